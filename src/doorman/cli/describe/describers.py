"""Which kinds are described in a shape of their own, and how; every other is told member by member."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from doorman.cli.describe.described_claim import describe_claim
from doorman.cli.describe.described_node import describe_node
from doorman.cli.describe.described_object import describe_object
from doorman.cli.describe.described_pod import describe_pod
from doorman.cli.describe.description import Description, Doc
from doorman.cli.describe.kinds.described_access import (
    describe_role,
    describe_role_binding,
    describe_service_account,
    describe_signing_request,
)
from doorman.cli.describe.kinds.described_autoscaler import describe_autoscaler
from doorman.cli.describe.kinds.described_config import describe_config_map, describe_secret
from doorman.cli.describe.kinds.described_job import describe_cron_job, describe_job
from doorman.cli.describe.kinds.described_namespace import describe_limit_range, describe_namespace, describe_quota
from doorman.cli.describe.kinds.described_network_policy import describe_network_policy
from doorman.cli.describe.kinds.described_service import (
    describe_endpoint_slice,
    describe_endpoints,
    describe_ingress,
    describe_ingress_class,
    describe_ip_address,
    describe_service,
    describe_service_cidr,
)
from doorman.cli.describe.kinds.described_storage import (
    describe_csi_node,
    describe_persistent_volume,
    describe_storage_class,
    describe_volume_attributes_class,
)
from doorman.cli.describe.kinds.described_workload import (
    describe_daemon_set,
    describe_deployment,
    describe_disruption_budget,
    describe_priority_class,
    describe_replica_set,
    describe_replication_controller,
    describe_stateful_set,
)
from doorman.cli.describe.related_objects import RelatedObjects


class Describer(msgspec.Struct, frozen=True):
    describe: Callable[[Description, Doc, RelatedObjects], None]
    has_events: bool = True
    """Whether the events about an object are told with it."""


_KINDS: Final[Mapping[tuple[str, str], Describer]] = {
    ("", "Pod"): Describer(describe_pod),
    ("", "Node"): Describer(describe_node),
    ("", "Namespace"): Describer(describe_namespace, has_events=False),
    ("", "ResourceQuota"): Describer(describe_quota, has_events=False),
    ("", "LimitRange"): Describer(describe_limit_range, has_events=False),
    ("", "ReplicationController"): Describer(describe_replication_controller),
    ("", "Service"): Describer(describe_service),
    ("", "Endpoints"): Describer(describe_endpoints),
    ("", "ServiceAccount"): Describer(describe_service_account),
    ("", "ConfigMap"): Describer(describe_config_map),
    ("", "Secret"): Describer(describe_secret, has_events=False),
    ("", "PersistentVolume"): Describer(describe_persistent_volume),
    ("", "PersistentVolumeClaim"): Describer(describe_claim),
    ("apps", "Deployment"): Describer(describe_deployment),
    ("apps", "ReplicaSet"): Describer(describe_replica_set),
    ("apps", "DaemonSet"): Describer(describe_daemon_set),
    ("apps", "StatefulSet"): Describer(describe_stateful_set),
    ("autoscaling", "HorizontalPodAutoscaler"): Describer(describe_autoscaler),
    ("batch", "Job"): Describer(describe_job),
    ("batch", "CronJob"): Describer(describe_cron_job),
    ("certificates.k8s.io", "CertificateSigningRequest"): Describer(describe_signing_request),
    ("discovery.k8s.io", "EndpointSlice"): Describer(describe_endpoint_slice),
    ("networking.k8s.io", "Ingress"): Describer(describe_ingress),
    ("networking.k8s.io", "IngressClass"): Describer(describe_ingress_class),
    ("networking.k8s.io", "IPAddress"): Describer(describe_ip_address),
    ("networking.k8s.io", "NetworkPolicy"): Describer(describe_network_policy, has_events=False),
    ("networking.k8s.io", "ServiceCIDR"): Describer(describe_service_cidr),
    ("policy", "PodDisruptionBudget"): Describer(describe_disruption_budget),
    ("rbac.authorization.k8s.io", "Role"): Describer(describe_role, has_events=False),
    ("rbac.authorization.k8s.io", "ClusterRole"): Describer(describe_role, has_events=False),
    ("rbac.authorization.k8s.io", "RoleBinding"): Describer(describe_role_binding, has_events=False),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): Describer(describe_role_binding, has_events=False),
    ("scheduling.k8s.io", "PriorityClass"): Describer(describe_priority_class),
    ("storage.k8s.io", "StorageClass"): Describer(describe_storage_class),
    ("storage.k8s.io", "CSINode"): Describer(describe_csi_node),
    ("storage.k8s.io", "VolumeAttributesClass"): Describer(describe_volume_attributes_class),
}
"""By group and kind."""

_ANY: Final = Describer(describe_object)


def describer_of(group: str, kind: str) -> Describer:
    return _KINDS.get((group, kind), _ANY)
