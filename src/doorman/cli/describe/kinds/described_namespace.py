"""Namespaces, with the ResourceQuotas and LimitRanges that hold in them, and those by themselves."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from doorman.api.machinery.quantity import parse_quantity, quantity_text
from doorman.cli.describe.description import Description, Doc, date, member
from doorman.cli.describe.related_objects import RelatedObjects

CONDITIONS: Final = ("Type", "Status", "LastTransitionTime", "Reason", "Message")
_LIMITS: Final = (
    "Type", "Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio",
)  # fmt: skip
_LIMIT_FIELDS: Final = ("min", "max", "defaultRequest", "default", "maxLimitRequestRatio")
_SCOPES: Final = {
    "Terminating": (
        "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being "
        "actively terminated by the system."
    ),
    "NotTerminating": (
        "Matches all pods that do not have an active deadline. These pods usually include long running pods whose "
        "container command is not expected to terminate."
    ),
    "BestEffort": (
        "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service."
    ),
    "NotBestEffort": (
        "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed "
        "quality of service."
    ),
}


def describe_namespace(out: Description, doc: Doc, related: RelatedObjects) -> None:
    name = doc["metadata"]["name"]
    out.head(doc, with_namespace=False)
    out.pair("Status", member(doc, "status", "phase") or "")
    describe_conditions(out, member(doc, "status", "conditions") or ())
    out.line("")
    _describe_quotas(out, related.items(f"/api/v1/namespaces/{name}/resourcequotas"))
    out.line("")
    _describe_limit_ranges(out, related.items(f"/api/v1/namespaces/{name}/limitranges"))


def describe_quota(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.pair("Name", doc["metadata"]["name"])
    out.pair("Namespace", doc["metadata"].get("namespace", ""))
    _describe_scopes(out, doc, 0, " * ")
    out.table(("Resource", "Used", "Hard"), _usage(doc), 0)


def describe_limit_range(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.pair("Name", doc["metadata"]["name"])
    out.pair("Namespace", doc["metadata"].get("namespace", ""))
    out.table(_LIMITS, _limits(doc), 0)


def describe_conditions(out: Description, conditions: Sequence[Doc]) -> None:
    if conditions:
        out.line("Conditions:")
        rows = [
            (
                one["type"], one["status"], date(one.get("lastTransitionTime")), one.get("reason", ""),
                one.get("message", ""),
            )
            for one in conditions
        ]  # fmt: skip
        out.table(CONDITIONS, rows)


def _describe_quotas(out: Description, quotas: Sequence[Doc]) -> None:
    if not quotas:
        out.line("No resource quota.")
        return
    out.line("Resource Quotas")
    for quota in sorted(quotas, key=lambda one: str(one["metadata"]["name"])):
        out.pair("Name", quota["metadata"]["name"], 1)
        _describe_scopes(out, quota, 1, "* ")
        out.line("Resource\tUsed\tHard\n  --------\t---\t---", 1)
        for row in _usage(quota):
            out.line("\t".join(row), 1)


def _describe_limit_ranges(out: Description, ranges: Sequence[Doc]) -> None:
    if not ranges:
        out.line("No LimitRange resource.")
        return
    out.line("Resource Limits")
    for row in (_LIMITS, ["-" * len(name) for name in _LIMITS], *(row for one in ranges for row in _limits(one))):
        out.line(" " + "\t".join(row))


def _describe_scopes(out: Description, quota: Doc, level: int, bullet: str) -> None:
    scopes = sorted(member(quota, "spec", "scopes") or ())
    if scopes:
        out.pair("Scopes", ", ".join(scopes), level)
        for scope in scopes:
            if scope in _SCOPES:
                out.line(bullet + _SCOPES[scope], level)


def _usage(quota: Doc) -> Iterator[tuple[str, str, str]]:
    """What is used is written as what there may be is: both with binary units, or neither."""
    hard, used = (member(quota, "status", field) or {} for field in ("hard", "used"))
    for name, limit in sorted(hard.items()):
        amount = used.get(name, "0")
        if _is_binary(limit) != _is_binary(amount):
            amount = quantity_text(parse_quantity(amount), is_binary=_is_binary(limit))
        yield name, amount, limit


def _is_binary(text: str) -> bool:
    return text.endswith("i")


def _limits(limit_range: Doc) -> Iterable[Sequence[str]]:
    for item in member(limit_range, "spec", "limits") or ():
        names = sorted({name for field in _LIMIT_FIELDS for name in item.get(field) or ()})
        for name in names:
            yield [item["type"], name, *((item.get(field) or {}).get(name, "-") for field in _LIMIT_FIELDS)]
