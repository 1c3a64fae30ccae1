"""How much of a node's storage a pod's claims would take, as a score.

Rules
-----
1. Where volumes that exist are to be bound, what counts is how much of them the claims ask for; else, where volumes are
   to be made, how much of the capacity that drivers publish for the node.
2. Claims of one storage class are added up. Capacities of volumes are, too; a node's capacity is there once for all.
3. A class' score is read from a broken line, by the share that is asked for in percent; who asks for more than there is
   gets the score of 100 %. All classes count the same; halves are rounded up.
4. A node of which nothing is known has 0.
"""

from math import ceil

from doorman.api.machinery.quantity import whole_value
from doorman.api.views.nodes import Node
from doorman.api.views.storage.persistent_volumes import STORAGE
from doorman.scheduler.cache.node_columns import Column
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings
from doorman.scheduler.volumes.volume_search import sufficient_capacity
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.volume_matching import class_of_claim, requested_storage


def storage_score(bindings: PodVolumeBindings, node: Node, state: VolumeState, line: Column) -> int:
    """`line`: rule 3's, by whole percentages."""
    asked: dict[str, int] = {}
    there: dict[str, int] = {}
    for binding in bindings.static:
        name = binding.volume.spec.storage_class_name
        asked[name] = asked.get(name, 0) + ceil(requested_storage(binding.claim))
        there[name] = there.get(name, 0) + whole_value(binding.volume.spec.capacity.get(STORAGE, "0"))
    if not bindings.static:
        for claim in bindings.provisioned:
            name = class_of_claim(claim)
            capacity = sufficient_capacity(claim, state.classes[name], node, state)
            if capacity is not None:
                asked[name] = asked.get(name, 0) + ceil(requested_storage(claim))
                there[name] = whole_value(capacity.capacity or "0")
    if not asked:
        return 0
    total = sum(int(line[_percent(asked[name], there[name])]) for name in asked)
    return (2 * total + len(asked)) // (2 * len(asked))


def _percent(asked: int, there: int) -> int:
    return 100 if there == 0 or asked > there else asked * 100 // there
