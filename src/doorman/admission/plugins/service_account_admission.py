"""ServiceAccount: every pod runs as an account that exists, with the account's token mounted."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import CREATE, Attributes, ClusterReader, Interest, refusal
from doorman.api.views.pods import TOKEN_VOLUME_PREFIX
from doorman.api.well_known import MIRROR_POD_ANNOTATION
from doorman.base.clock import Instant
from doorman.base.go_format import quote
from doorman.semantics.pods.pod_references import references_of

INTERESTS: Final = (Interest(resource="pods", operations=CREATE),)

ACCOUNT_DEFAULT: Final = "default"
TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS: Final = 3607
"""An hour and seven seconds: an odd number that tells tokens of this kind apart."""


def decide_mirror_fault(pod: Mapping[str, Any]) -> str:
    """Why a mirror pod is refused, empty when it is not: it must do without secrets and accounts."""
    spec: Mapping[str, Any] = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    if any(resource == "secrets" for resource, _ in references_of(pod)):
        return "a mirror pod may not reference secrets"
    for volume in spec.get("volumes") or ():
        sources = (volume.get("projected") or {}).get("sources") or ()
        if any("serviceAccountToken" in source for source in sources):
            return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def decide_automount(spec: Mapping[str, Any], account: Mapping[str, Any]) -> bool:
    """The pod's word counts first, then the account's; else the token is mounted."""
    for holder in (spec, account):
        if (said := holder.get("automountServiceAccountToken")) is not None:
            return bool(said)
    return True


class ServiceAccountPlugin:
    name = "ServiceAccount"
    interests: Sequence[Interest] = INTERESTS

    def __init__(self, suffix: Callable[[], str]) -> None:
        self._suffix = suffix

    def admit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a create has an object"
        spec = attributes.obj.setdefault("spec", {})
        if MIRROR_POD_ANNOTATION in (attributes.obj["metadata"].get("annotations") or {}):
            if why := decide_mirror_fault(attributes.obj):
                raise refusal(attributes, why)
            return
        wanted = spec.get("serviceAccountName") or ACCOUNT_DEFAULT
        account = cluster.get("serviceaccounts", attributes.namespace, wanted)
        if account is None:
            where = f"{attributes.namespace}/{wanted}"
            why = f"error looking up service account {where}: serviceaccount {quote(wanted)} not found"
            raise refusal(attributes, why)
        spec["serviceAccountName"] = spec["serviceAccount"] = wanted
        if decide_automount(spec, account):
            self._mount_token(spec, attributes.generated_names)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [dict(secret) for secret in account["imagePullSecrets"]]

    def _mount_token(
        self, spec: dict[str, Any], generated_names: list[str]
    ) -> None:  # a PodSpec as JSON, changed in place
        volumes = spec.get("volumes") or []
        there = next((v["name"] for v in volumes if v.get("name", "").startswith(TOKEN_VOLUME_PREFIX)), "")
        bare = [
            container
            for group in ("initContainers", "containers")
            for container in spec.get(group) or ()
            if not any(mount.get("mountPath") == TOKEN_PATH for mount in container.get("volumeMounts") or ())
        ]
        if not bare:
            return
        name = there or TOKEN_VOLUME_PREFIX + self._suffix()
        for container in bare:
            mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
        if not there:
            generated_names.append(name)
            spec["volumes"] = [*volumes, _token_volume(name)]


def _token_volume(name: str) -> dict[str, Any]:  # a Volume as JSON
    namespace_ref = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace_ref}]}},
            ],
            "defaultMode": 420,
        },
    }
