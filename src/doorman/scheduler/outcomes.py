"""What a scheduling attempt came to, as values.

The scheduler only decides. Whoever runs it turns outcomes into bindings, conditions, deletions and events.
"""

import msgspec

from doorman.api.views.pods import Pod
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.base.clock import Instant
from doorman.scheduler.devices.claim_binding import ClaimBinding
from doorman.scheduler.extenders.extender import Extender
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all outcomes."""

    pod: Pod
    """As the scheduler last saw it."""
    profile: str
    """Name of the profile that decided: the reporting controller of events."""
    began: float = 0.0
    """By the scheduler's stopwatch: when this attempt began."""


class Placed(Outcome, frozen=True, kw_only=True):
    """The pod goes to `node`. It is counted there at once (assumed); bind it, then say how that went."""

    node: str
    score: int = 0
    """Weighted total of the node; 0 when there was nothing to compare (one feasible or a nominated node)."""
    feasible_nodes: int = 0
    attempts: int = 1
    first_tried: Instant = 0.0
    was_flushed: bool = False
    """It had waited so long that it was tried again although nothing had happened."""
    claims: tuple[ClaimBinding, ...] = ()
    """To be written before the pod is bound."""
    volumes: PodVolumeBindings | None = None
    """Likewise; None when all its volumes are bound, or it has none."""


class Victim(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that must leave. One that is terminating already needs no condition and no deletion."""

    pod: Pod
    terminating: bool = False


class Rejected(Outcome, frozen=True, kw_only=True):
    """The pod stays pending."""

    reason: str
    """Of the PodScheduled condition: `Unschedulable` or `SchedulerError`."""
    message: str
    nominated: str | None = None
    """What `status.nominatedNodeName` becomes: a node, "" to clear it, None to leave it."""
    node: str = ""
    """Where the victims are; set when there are any."""
    victims: tuple[Victim, ...] = ()
    """To be deleted, but for those that terminate already, in this order, the last one after all the others.

    `Scheduler.preempting_last` must be called before that, and `Scheduler.preempted` afterwards.
    """
    unnominated: tuple[Pod, ...] = ()
    """Pods of lower priority that were nominated to `node` and lose that nomination."""
    broken_budgets: int = 0
    """Victims whose leaving breaks a disruption budget."""
    given_up: ResourceClaim | None = None
    """A claim whose devices keep the pod from every node: they are to be given back."""
    attempts: int = 1


class Skipped(Outcome, frozen=True, kw_only=True):
    """Popped, but not to be scheduled; `message` is the note of a FailedScheduling event."""

    message: str


class AskExtenders(Outcome, frozen=True, kw_only=True):
    """Extenders have a say. Nothing else is decided until `ExtenderDecisions.on_filter_result` is told their answer."""

    extenders: tuple[Extender, ...]
    nodes: tuple[str, ...]
    """Those that are left, in the order of nodes."""


class NodeVictims(msgspec.Struct, frozen=True, kw_only=True):
    """A node that would take a pod if these left."""

    node: str
    pods: tuple[Pod, ...]
    broken_budgets: int = 0


class AskExtendersAboutVictims(Outcome, frozen=True, kw_only=True):
    """Extenders have a say in who must leave: `ExtenderDecisions.on_preemption_result` must be told their answer."""

    extenders: tuple[Extender, ...]
    candidates: tuple[NodeVictims, ...]


UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
