"""What lint looks at in a cluster: read only, page by page, and never Secrets or ConfigMaps."""

from typing import Any, Final

from doorman.base.errors import ApiError
from doorman.client.command_line.http_client import HttpClient

PAGE: Final = "500"
PATHS: Final = (
    ("/api/v1/nodes", "v1", "Node"),
    ("/api/v1/pods", "v1", "Pod"),
    ("/api/v1/replicationcontrollers", "v1", "ReplicationController"),
    ("/apis/apps/v1/deployments", "apps/v1", "Deployment"),
    ("/apis/apps/v1/statefulsets", "apps/v1", "StatefulSet"),
    ("/apis/apps/v1/daemonsets", "apps/v1", "DaemonSet"),
    ("/apis/apps/v1/replicasets", "apps/v1", "ReplicaSet"),
    ("/apis/batch/v1/jobs", "batch/v1", "Job"),
    ("/apis/batch/v1/cronjobs", "batch/v1", "CronJob"),
    ("/apis/policy/v1/poddisruptionbudgets", "policy/v1", "PodDisruptionBudget"),
    ("/apis/resource.k8s.io/v1/resourceclaims", "resource.k8s.io/v1", "ResourceClaim"),
    ("/apis/resource.k8s.io/v1/resourceclaimtemplates", "resource.k8s.io/v1", "ResourceClaimTemplate"),
)


def cluster_objects(client: HttpClient) -> list[dict[str, Any]]:
    """Raises ApiError and Unreachable. A kind that the cluster does not serve is passed over."""
    return [item for path, version, kind in PATHS for item in _listed(client, path, version, kind)]


def _listed(client: HttpClient, path: str, version: str, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    query = {"limit": PAGE}
    while True:
        try:
            page = client.request("GET", path, query=query)
        except ApiError as error:
            if error.code == 404 and not found:
                return []
            raise
        found += [{"apiVersion": version, "kind": kind, **item} for item in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            return found
        query = {"limit": PAGE, "continue": token}
