"""Everything `doorman up` can be told."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from doorman.admission.admission_configuration import QuotaLimits, Restriction
from doorman.base.clock import Instant
from doorman.base.gates import FeatureGates
from doorman.controllers.node.node_lifecycle_settings import NodeLifecycleSettings
from doorman.controllers.pods.pod_gc import PodGcSettings
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionSettings
from doorman.controllers.volumes.attach_detach_settings import AttachDetachSettings
from doorman.nodes.agent_settings import PodLives
from doorman.nodes.fleet import Fleet
from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.store.etcd.etcd_settings import EtcdSettings

CONTROLLER_ALIASES: Final[Mapping[str, str]] = {
    "clusterrole-aggregation": "clusterrole-aggregation-controller",
    "cronjob": "cronjob-controller",
    "csrapproving": "certificatesigningrequest-approving-controller",
    "csrsigning": "certificatesigningrequest-signing-controller",
    "daemonset": "daemonset-controller",
    "deployment": "deployment-controller",
    "disruption": "disruption-controller",
    "endpoint": "endpoints-controller",
    "endpointslice": "endpointslice-controller",
    "endpointslicemirroring": "endpointslice-mirroring-controller",
    "garbagecollector": "garbage-collector-controller",
    "job": "job-controller",
    "namespace": "namespace-controller",
    "nodelifecycle": "node-lifecycle-controller",
    "podgc": "pod-garbage-collector-controller",
    "ephemeral-volume": "ephemeral-volume-controller",
    "attachdetach": "persistentvolume-attach-detach-controller",
    "persistentvolume-binder": "persistentvolume-binder-controller",
    "pv-protection": "persistentvolume-protection-controller",
    "pvc-protection": "persistentvolumeclaim-protection-controller",
    "replicaset": "replicaset-controller",
    "replicationcontroller": "replicationcontroller-controller",
    "resource-claim-controller": "resourceclaim-controller",
    "resourcequota": "resourcequota-controller",
    "root-ca-cert-publisher": "root-ca-certificate-publisher-controller",
    "serviceaccount": "serviceaccount-controller",
    "statefulset": "statefulset-controller",
    "ttl-after-finished": "ttl-after-finished-controller",
}
"""Names from before 1.28 that `--controllers` still takes. The taint-eviction-controller never had another."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    nodes: int | None = None
    """Simulated nodes; None: three where nothing is stored yet, and none else."""
    components: bool = True
    """False: the API server alone. Scheduler, controllers and simulated nodes are processes of their own."""
    bind_address: str = "127.0.0.1"
    advertise_address: str = ""
    """Under which others reach this server; empty: the one it listens on, or the machine's."""
    tls_names: tuple[str, ...] = ()
    """Names and addresses that the certificate is for besides."""
    secure_port: int = 6443
    """0: a free one."""
    data_dir: Path | None = None
    """None: nothing is kept."""
    etcd: EtcdSettings | None = None
    """Where everything is kept instead; the directory has keys and certificates only."""
    kubeconfig_out: Path | None = None
    kubeconfig_name: str = "doorman"
    """Of the cluster, the user and the context in it."""
    gates: FeatureGates = FeatureGates()
    controllers: tuple[str, ...] = ("*",)
    enable_admission_plugins: tuple[str, ...] = ()
    disable_admission_plugins: tuple[str, ...] = ()
    toleration_restriction: Restriction = Restriction()
    """What PodTolerationRestriction gives to, and demands of, namespaces that do not say."""
    takes_shortcuts: bool = True
    """False: every write goes the long way (`registry/fastpath/shortcuts.py`), to compare."""
    quota_limits: QuotaLimits = QuotaLimits()
    """What ResourceQuota lets nobody take without a quota for it."""
    default_not_ready_toleration_seconds: int = 300
    default_unreachable_toleration_seconds: int = 300
    node_lifecycle: NodeLifecycleSettings = NodeLifecycleSettings()
    taint_eviction: TaintEvictionSettings = TaintEvictionSettings()
    pod_gc: PodGcSettings = PodGcSettings()
    attach_detach: AttachDetachSettings = AttachDetachSettings()
    device_taint_eviction_workers: int = 256
    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    audit_log_path: Path | None = None
    """None: nothing is logged."""
    scheduler: SchedulerConfig = SchedulerConfig()
    fleet: Fleet | None = None
    """Simulated nodes by profile, instead of `nodes`."""
    plays_provisioners: bool = False
    """Volumes of every class are simulated: where those who make them are elsewhere, or nowhere."""
    clock_rate: float | None = None
    """None: real time; otherwise users move the clock, which goes so many times as fast by itself: 0 stands still."""
    pod_lives: PodLives = PodLives()
    """What pods of simulated nodes do that do not say."""
    writes_leases: bool = True
    """False: leases of simulated nodes are not renewed in the store, but worked out by who looks for signs of life."""
    writes_replica_counts: bool = True
    """False: ReplicaSets without a rollout do not report how many pods they have, since nobody reads it."""
    resumed_at: Instant | None = None
    """The store holds a cluster as it was at this instant: what was under way goes on from where it was."""
    seed: int | None = None
    """Of uids, generated names and the like; None: unpredictable."""


def without_aliases(controllers: Iterable[str]) -> tuple[str, ...]:
    """The list with every controller under its own name.

    >>> without_aliases(("*", "-nodelifecycle", "job"))
    ('*', '-node-lifecycle-controller', 'job-controller')
    """
    signs = (("-" if element.startswith("-") else "", element.removeprefix("-")) for element in controllers)
    return tuple(sign + CONTROLLER_ALIASES.get(name, name) for sign, name in signs)


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
