"""Columns of bindings of admission policies."""

from collections.abc import Mapping
from typing import Final

from doorman.base.clock import Instant
from doorman.base.go_format import go_value
from doorman.base.json_types import Document
from doorman.server.tables.column import Cell, TableColumn, age_column, at, name_column, text


def _parameters(doc: Document, _now: Instant) -> Cell:
    """By which objects a policy is parametrised: one by name, or those of a selector as Go prints it."""
    reference = at(doc, "spec.paramRef")
    if not reference:
        return "<unset>"
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return _go_selector(reference.get("selector") or {})


def _go_selector(selector: Document) -> str:
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    wanted = "".join(
        f"LabelSelectorRequirement{{Key:{one.get('key', '')},Operator:{one.get('operator', '')},"
        f"Values:{go_value(one.get('values') or [])},}},"
        for one in selector.get("matchExpressions") or ()
    )
    expressions = f"MatchExpressions:[]LabelSelectorRequirement{{{wanted}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},{expressions},}}"


_BINDING: Final = (
    name_column(),
    text("PolicyName", "spec.policyName"),
    TableColumn("ParamRef", _parameters),
    age_column(),
)

ADMISSION_COLUMNS: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _BINDING,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _BINDING,
}
