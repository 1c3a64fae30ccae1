"""The names that kube-controller-manager's work queues have in metrics, by controller and kind of key.

A queue here holds all keys of a controller; those of a kind that Kubernetes keeps in a queue of its own are counted
under that one's name. The empty kind stands for all others. Controllers that Kubernetes does not have are counted under
their own name.
"""

from collections.abc import Mapping
from typing import Final

QUEUE_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "clusterrole-aggregation-controller": {"": "ClusterRoleAggregator"},
    "cronjob-controller": {"": "cronjob"},
    "crd-controller": {"": "crd_finalizer", "names": "crd_naming_condition_controller"},
    "daemonset-controller": {"": "daemonset", "node": "daemonset-node-updates"},
    "deployment-controller": {"": "deployment"},
    "disruption-controller": {"": "disruption", "pod": "stale_pod_disruption"},
    "endpoints-controller": {"": "endpoint"},
    "endpointslice-controller": {"": "endpoint_slice"},
    "endpointslice-mirroring-controller": {"": "endpoint_slice_mirroring"},
    "garbage-collector-controller": {
        "": "garbage_collector_attempt_to_delete",
        "owner": "garbage_collector_graph_changes",
    },
    "job-controller": {"": "job", "orphan": "job_orphan_pod"},
    "namespace-controller": {"": "namespace"},
    "node-lifecycle-controller": {"": "node_lifecycle_controller", "pod": "node_lifecycle_controller_pods"},
    "persistentvolume-protection-controller": {"": "pvprotection"},
    "persistentvolumeclaim-protection-controller": {"": "pvcprotection"},
    "pod-garbage-collector-controller": {"": "orphaned_pods_nodes"},
    "replicaset-controller": {"": "replicaset"},
    "replicationcontroller-controller": {"": "replicationmanager"},
    "resourceclaim-controller": {"": "resource_claim"},
    "resourcequota-controller": {"": "resourcequota_primary"},
    "root-ca-certificate-publisher-controller": {"": "root_ca_cert_publisher"},
    "serviceaccount-controller": {"": "serviceaccount"},
    "statefulset-controller": {"": "statefulset"},
    "taint-eviction-controller": {"": "noexec_taint_pod", "node": "noexec_taint_node"},
    "ttl-after-finished-controller": {"": "ttl_jobs_to_delete"},
    "volumeattributesclass-protection-controller": {"": "vacprotection"},
    "validatingadmissionpolicy-status-controller": {"": "validatingadmissionpolicy-status"},
}
