"""Everything `doorman up` can be told."""

from pathlib import Path

import msgspec

from doorman.admission.configuration import Limits, Restriction
from doorman.base.gates import FeatureGates
from doorman.controllers.node_lifecycle import NodeLifecycleSettings
from doorman.controllers.taint_eviction import TaintEvictionSettings
from doorman.nodes.fleet import Fleet
from doorman.scheduler.config import SchedulerConfig


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    nodes: int = 3
    bind_address: str = "127.0.0.1"
    secure_port: int = 6443
    """0: a free one."""
    data_dir: Path | None = None
    """None: nothing is kept."""
    kubeconfig_out: Path | None = None
    gates: FeatureGates = FeatureGates()
    controllers: tuple[str, ...] = ("*",)
    enable_admission_plugins: tuple[str, ...] = ()
    disable_admission_plugins: tuple[str, ...] = ()
    toleration_restriction: Restriction = Restriction()
    """What PodTolerationRestriction gives to, and demands of, namespaces that do not say."""
    quota_limits: Limits = Limits()
    """What ResourceQuota lets nobody take without a quota for it."""
    default_not_ready_toleration_seconds: int = 300
    default_unreachable_toleration_seconds: int = 300
    node_lifecycle: NodeLifecycleSettings = NodeLifecycleSettings()
    taint_eviction: TaintEvictionSettings = TaintEvictionSettings()
    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    audit_log_path: Path | None = None
    """None: nothing is logged."""
    scheduler: SchedulerConfig = SchedulerConfig()
    fleet: Fleet | None = None
    """Simulated nodes by profile, instead of `nodes`."""
    seed: int | None = None
    """Of uids, generated names and the like; None: unpredictable."""


def is_enabled(name: str, controllers: tuple[str, ...]) -> bool:
    """kube-controller-manager's rule: the first explicit mention decides, then whether there is a star.

    >>> is_enabled("a", ("*", "-a")), is_enabled("b", ("*", "-a")), is_enabled("b", ("a",)), is_enabled("b", ("-a",))
    (False, True, False, False)
    """
    for element in controllers:
        if element == name:
            return True
        if element == f"-{name}":
            return False
    return "*" in controllers
