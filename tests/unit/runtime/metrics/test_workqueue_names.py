"""Names of queues are given to controllers that exist, and no two share one."""

from doorman.runtime.controller_registry import CONTROLLERS
from doorman.runtime.metrics.workqueue_names import QUEUE_NAMES

SERVERS_OWN = {"crd-controller"}


def test_every_named_controller_exists() -> None:
    assert set(QUEUE_NAMES) <= {*CONTROLLERS, *SERVERS_OWN}


def test_no_two_controllers_share_a_queue() -> None:
    names = [name for by_kind in QUEUE_NAMES.values() for name in dict.fromkeys(by_kind.values())]
    assert len(names) == len(set(names))
    assert all("" in by_kind for by_kind in QUEUE_NAMES.values())


def test_specified_names() -> None:
    assert QUEUE_NAMES["taint-eviction-controller"] == {"": "noexec_taint_pod", "node": "noexec_taint_node"}
    assert QUEUE_NAMES["daemonset-controller"]["node"] == "daemonset-node-updates"
