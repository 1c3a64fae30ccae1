"""References from a pod to its own fields and resources: in variables and in files."""

import re
from collections.abc import Sequence
from typing import Final

from doorman.api.machinery.quantity import parse_quantity
from doorman.base.errors import FieldError, invalid, not_supported, required
from doorman.semantics.name_syntax import qualified_name_faults
from doorman.validation.faults import Part, badly

_FIELDS: Final = frozenset({
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
})  # fmt: skip
_RESOURCES: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage",
    "requests.memory",
)  # fmt: skip
_HUGE_PAGES: Final = ("requests.hugepages-", "limits.hugepages-")
_SUBSCRIPTED: Final = re.compile(r"(.+)\['(.*)'\]", re.DOTALL)
_CPU_DIVISORS: Final = ("1m", "1")
_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def field_errors(reference: Part, path: str, allowed: Sequence[str]) -> list[FieldError]:
    version, text = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version:
        return [required(f"{path}.apiVersion")]
    if not text:
        return [required(f"{path}.fieldPath")]
    subscripted = _SUBSCRIPTED.fullmatch(text)
    if fault := _conversion_fault(version, text, subscripted):
        return [invalid(f"{path}.fieldPath", text, f"error converting fieldPath: {fault}")]
    if subscripted:
        key = subscripted[2].lower() if subscripted[1] == "metadata.annotations" else subscripted[2]
        return badly(path, key, qualified_name_faults(key))
    shown = "spec.nodeName" if text == "spec.host" else text
    return [] if shown in allowed else [not_supported(f"{path}.fieldPath", shown, allowed)]


def _conversion_fault(version: str, text: str, subscripted: re.Match[str] | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted:
        if subscripted[1] in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {text}"
    return "" if text in _FIELDS or text == "spec.host" else f"field label not supported: {text}"


def resource_field_errors(reference: Part, path: str, *, is_volume: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    resource = reference.get("resource") or ""
    if is_volume and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(not_supported(f"{path}.resource", resource, _RESOURCES))
    return [*errors, *_divisor_errors(resource, reference.get("divisor") or "0", path)]


def _divisor_errors(resource: str, divisor: str, path: str) -> list[FieldError]:
    what = resource.partition(".")[2]
    if parse_quantity(divisor) == 0 or (resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES)):
        return []
    allowed: tuple[str, ...]
    if what == "cpu":
        allowed, shown = _CPU_DIVISORS, "1m and 1 are supported with the cpu resource"
    else:
        named = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(what, "hugepages")
        allowed, shown = _DIVISORS, f"{', '.join(_DIVISORS)} are supported with the {named} resource"
    if divisor in allowed:
        return []
    return [invalid(f"{path}.divisor", resource, f"only divisor's values {shown}")]
