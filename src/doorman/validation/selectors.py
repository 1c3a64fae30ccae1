"""Label selectors, node selectors and affinity."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.well_known import PREFERRED_TERMS, REQUIRED_TERMS
from doorman.base.errors import FieldError, JsonText, duplicate, forbidden, invalid, not_supported, required
from doorman.semantics.name_syntax import dns_label_faults, label_value_faults, qualified_name_faults, subdomain_faults
from doorman.validation.metadata import label_errors

_VALUES_FOR_IN: Final = "must be specified when `operator` is 'In' or 'NotIn'"
_NO_VALUES_FOR_EXISTS: Final = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_ONE_VALUE_FOR_COMPARISON: Final = "must be specified single value when `operator` is 'Lt' or 'Gt'"
_ONE_VALUE_FOR_FIELD: Final = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
_WEIGHT_RANGE: Final = "must be in the range 1-100"


def label_selector_errors(selector: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    if not selector:
        return []
    errors = label_errors(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        errors.extend(_label_requirement_errors(requirement, f"{path}.matchExpressions[{index}]"))
    return errors


def selector_matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a selector (of which the syntax was checked) selects these labels; an empty one selects all."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    return all(_requirement_matches(one, labels) for one in selector.get("matchExpressions") or ())


def _requirement_matches(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key = requirement.get("key", "")
    match requirement.get("operator"):
        case "In":
            return key in labels and labels[key] in (requirement.get("values") or ())
        case "NotIn":
            return key not in labels or labels[key] not in (requirement.get("values") or ())
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False


def _label_requirement_errors(requirement: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", _VALUES_FOR_IN))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(forbidden(f"{path}.values", _NO_VALUES_FOR_EXISTS))
    else:
        errors.append(invalid(f"{path}.operator", JsonText(operator), "not a valid selector operator"))
    key = requirement.get("key", "")
    errors.extend(invalid(f"{path}.key", key, fault) for fault in qualified_name_faults(key))
    for index, value in enumerate(values):
        errors.extend(invalid(f"{path}.values[{index}]", value, fault) for fault in label_value_faults(value))
    return errors


def affinity_errors(affinity: Mapping[str, Any] | None, path: str) -> list[FieldError]:
    if not affinity:
        return []
    errors: list[FieldError] = []
    if node_affinity := affinity.get("nodeAffinity"):
        errors.extend(_node_affinity_errors(node_affinity, f"{path}.nodeAffinity"))
    for field in ("podAffinity", "podAntiAffinity"):
        if pod_affinity := affinity.get(field):
            errors.extend(_pod_affinity_errors(pod_affinity, f"{path}.{field}"))
    return errors


def _node_affinity_errors(affinity: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if (selector := affinity.get(REQUIRED_TERMS)) is not None:
        errors.extend(node_selector_errors(selector, f"{path}.{REQUIRED_TERMS}"))
    for index, term in enumerate(affinity.get(PREFERRED_TERMS) or ()):
        at = f"{path}.{PREFERRED_TERMS}[{index}]"
        errors.extend(_weight_errors(term, at))
        preference = term.get("preference") or {}
        errors.extend(node_selector_term_errors(preference, f"{at}.preference", any_value=True))
    return errors


def node_selector_errors(selector: Mapping[str, Any], path: str) -> list[FieldError]:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    errors: list[FieldError] = []
    for index, term in enumerate(terms):
        errors.extend(node_selector_term_errors(term, f"{path}.nodeSelectorTerms[{index}]"))
    return errors


def node_selector_term_errors(term: Mapping[str, Any], path: str, *, any_value: bool = False) -> list[FieldError]:
    """`any_value`: values need not be such as labels have. A preference that can never hold does no harm."""
    errors: list[FieldError] = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        errors.extend(_node_requirement_errors(requirement, at, any_value=any_value))
    for index, requirement in enumerate(term.get("matchFields") or ()):
        errors.extend(_node_field_errors(requirement, f"{path}.matchFields[{index}]"))
    return errors


def _node_requirement_errors(requirement: Mapping[str, Any], path: str, *, any_value: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    match operator:
        case "In" | "NotIn":
            if not values:
                errors.append(required(f"{path}.values", _VALUES_FOR_IN))
        case "Exists" | "DoesNotExist":
            if values:
                errors.append(forbidden(f"{path}.values", _NO_VALUES_FOR_EXISTS))
        case "Gt" | "Lt":
            if len(values) != 1:
                errors.append(required(f"{path}.values", _ONE_VALUE_FOR_COMPARISON))
        case _:
            errors.append(invalid(f"{path}.operator", JsonText(operator), "not a valid selector operator"))
    key = requirement.get("key", "")
    errors.extend(invalid(f"{path}.key", key, fault) for fault in qualified_name_faults(key))
    for index, value in enumerate(() if any_value else values):
        errors.extend(invalid(f"{path}.values[{index}]", value, fault) for fault in label_value_faults(value))
    return errors


def _node_field_errors(requirement: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            errors.append(required(f"{path}.values", _ONE_VALUE_FOR_FIELD))
    else:
        errors.append(invalid(f"{path}.operator", JsonText(operator), "not a valid selector operator"))
    key = requirement.get("key", "")
    if key != "metadata.name":
        errors.append(invalid(f"{path}.key", key, "not a valid field selector key"))
        return errors
    for index, value in enumerate(values):
        errors.extend(invalid(f"{path}.values[{index}]", value, fault) for fault in subdomain_faults(value))
    return errors


def _pod_affinity_errors(affinity: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, term in enumerate(affinity.get(REQUIRED_TERMS) or ()):
        errors.extend(_pod_term_errors(term, f"{path}.{REQUIRED_TERMS}[{index}]"))
    for index, weighted in enumerate(affinity.get(PREFERRED_TERMS) or ()):
        at = f"{path}.{PREFERRED_TERMS}[{index}]"
        errors.extend(_weight_errors(weighted, at))
        errors.extend(_pod_term_errors(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm"))
    return errors


def _pod_term_errors(term: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = label_selector_errors(term.get("labelSelector"), f"{path}.labelSelector")
    errors.extend(label_selector_errors(term.get("namespaceSelector"), f"{path}.namespaceSelector"))
    for namespace in term.get("namespaces") or ():
        errors.extend(invalid(f"{path}.namespace", namespace, fault) for fault in dns_label_faults(namespace))
    errors.extend(_label_key_errors(term, path))
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    errors.extend(invalid(f"{path}.topologyKey", key, fault) for fault in qualified_name_faults(key))
    return errors


def _label_key_errors(holder: Mapping[str, Any], path: str) -> list[FieldError]:
    """`matchLabelKeys` and `mismatchLabelKeys`: names of labels that add to a selector what it does not say itself.

    On create the pod's own values have already been added to the selector: one expression of a key is ours.
    """
    errors: list[FieldError] = []
    selector = holder.get("labelSelector")
    wanted, avoided = holder.get("matchLabelKeys") or (), holder.get("mismatchLabelKeys") or ()
    for field, keys in (("matchLabelKeys", wanted), ("mismatchLabelKeys", avoided)):
        if keys and selector is None:
            errors.append(forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set"))
            continue
        for index, key in enumerate(keys):
            errors.extend(invalid(f"{path}.{field}[{index}]", key, fault) for fault in qualified_name_faults(key))
    if selector is not None and wanted:
        errors.extend(_repeated_key_errors(selector, wanted, path))
    errors.extend(
        invalid(f"{path}.matchLabelKeys[{index}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")
        for index, key in enumerate(wanted)
        if key in avoided
    )
    return errors


def _repeated_key_errors(selector: Mapping[str, Any], keys: Sequence[str], path: str) -> list[FieldError]:
    """The API names the place by the key's number alone, without the field's name."""
    said = set(selector.get("matchLabels") or ())
    places = {key: index for index, key in enumerate(keys)}
    errors: list[FieldError] = []
    for expression in selector.get("matchExpressions") or ():
        key = expression.get("key", "")
        if key in places and key in said:
            text = "exists in both matchLabelKeys and labelSelector"
            errors.append(invalid(f"{path}[{places[key]}]", key, text))
        said.add(key)
    return errors


def _weight_errors(term: Mapping[str, Any], path: str) -> list[FieldError]:
    weight = term.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, _WEIGHT_RANGE)]


def topology_spread_errors(constraints: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    """Of constraints that are the same each one but the last is told of."""
    errors: list[FieldError] = []
    pairs = [(one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")) for one in constraints]
    for index, constraint in enumerate(constraints):
        comes_again = pairs[index] in pairs[index + 1 :]
        errors.extend(_spread_errors(constraint, f"{path}[{index}]", comes_again=comes_again))
    return errors


def _spread_errors(constraint: Mapping[str, Any], path: str, *, comes_again: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    skew = constraint.get("maxSkew", 0)
    if skew <= 0:
        errors.append(invalid(f"{path}.maxSkew", skew, "must be greater than zero"))
    key = constraint.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    action = constraint.get("whenUnsatisfiable", "")
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        errors.append(not_supported(f"{path}.whenUnsatisfiable", JsonText(action), ("DoNotSchedule", "ScheduleAnyway")))
    if comes_again:
        errors.append(duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
    domains = constraint.get("minDomains")
    if domains is not None:
        if domains <= 0:
            errors.append(invalid(f"{path}.minDomains", domains, "must be greater than zero"))
        if action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            errors.append(invalid(f"{path}.minDomains", domains, text))
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(field)
        if policy is not None and policy not in ("Honor", "Ignore"):
            errors.append(not_supported(f"{path}.{field}", JsonText(policy), ("Honor", "Ignore")))
    errors.extend(_label_key_errors(constraint, path))
    errors.extend(label_selector_errors(constraint.get("labelSelector"), f"{path}.labelSelector"))
    return errors
