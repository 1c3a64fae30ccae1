"""Tolerations by themselves: what the API refuses, what is never used, what is wider than it looks."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from doorman.api.taints import Toleration
from doorman.lint.lint_documents import LintDocument
from doorman.lint.lint_rule import LintRule, Problem, Severity
from doorman.lint.pod_templates import LintedToleration, shown
from doorman.lint.surroundings import Surroundings
from doorman.semantics.taints.canonical_integers import canonical_integer_faults, canonical_integer_or_none
from doorman.semantics.taints.toleration_lists import is_superset
from doorman.validation.pods.tolerations import SECONDS_WITHOUT_NO_EXECUTE, toleration_errors

MEMBERS: Final = ("key", "operator", "value", "effect", "tolerationSeconds")
_TEXTS: Final = ("key", "operator", "value", "effect")
_INDEXED: Final = re.compile(r"\[(\d+)\]\.?(\w*)")


def tolerations_of(document: LintDocument, around: Surroundings) -> tuple[LintedToleration, ...]:
    template = around.template(document)
    return template.tolerations if template is not None else ()


def check_shadowed(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    found = tolerations_of(document, around)
    for at, later in enumerate(found):
        earlier = next((one for one in found[:at] if covers(one.meant, later.meant)), None)
        if earlier is None:
            continue
        yield Problem(
            later.path,
            f"{shown(later.meant)} is never used: {shown(earlier.meant)}, {_place(earlier)}, "
            f"{_effect_of(earlier.meant, later.meant)}",
        )


def covers(earlier: Toleration, later: Toleration) -> bool:
    """Whether every taint that the later one tolerates is tolerated by the earlier one, which comes first.

    >>> covers(Toleration(key="k", operator="Exists"), Toleration(key="k", value="v", effect="NoExecute"))
    True
    >>> covers(Toleration(key="n", operator="Gt", value="5"), Toleration(key="n", operator="Gt", value="9"))
    True
    """
    one, other = _normal(earlier), _normal(later)
    if is_superset(one, other):
        return True
    if one.key != other.key or one.effect not in ("", other.effect) or one.operator not in ("Gt", "Lt"):
        return False
    bound, number = canonical_integer_or_none(one.value), canonical_integer_or_none(other.value)
    if bound is None or number is None:
        return False
    if other.operator == one.operator:
        return number >= bound if one.operator == "Gt" else number <= bound
    return other.operator == "Equal" and (number > bound if one.operator == "Gt" else number < bound)


def _normal(toleration: Toleration) -> Toleration:
    """Without seconds, which have no say in matching, and with the operator said."""
    return msgspec.structs.replace(toleration, operator=toleration.operator or "Equal", toleration_seconds=None)


def _place(toleration: LintedToleration) -> str:
    return f"tolerations[{toleration.index}]"


def _effect_of(earlier: Toleration, later: Toleration) -> str:
    if earlier.toleration_seconds == later.toleration_seconds:
        return "comes first and is as wide"
    said = "for ever" if earlier.toleration_seconds is None else f"for {earlier.toleration_seconds}s"
    return f"comes first, so such taints are tolerated {said}"


def check_everything(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    template = around.template(document)
    if template is None or template.is_daemon:
        return
    for one in template.tolerations:
        if not one.meant.key and one.meant.operator == "Exists":
            which = f"taint with effect {one.meant.effect}" if one.meant.effect else "taint"
            yield Problem(
                one.path, f"operator Exists without a key tolerates every {which}, cordons and failures included"
            )


def check_numbers(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    for one in tolerations_of(document, around):
        if one.meant.operator in ("Gt", "Lt") and isinstance(one.written.get("value", ""), str):
            for fault in canonical_integer_faults(one.meant.value)[:1]:
                yield Problem(
                    (*one.path, "value"),
                    f'operator {one.meant.operator} needs a whole number, not "{one.meant.value}": {fault}',
                )


def check_seconds(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    for one in tolerations_of(document, around):
        if one.written.get("tolerationSeconds") is not None and one.meant.effect != "NoExecute":
            effect = f"effect {one.meant.effect}" if one.meant.effect else "no effect"
            yield Problem(
                (*one.path, "tolerationSeconds"), f"tolerationSeconds with {effect}: {SECONDS_WITHOUT_NO_EXECUTE}"
            )


def check_types(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    for one in tolerations_of(document, around):
        for member in _TEXTS:
            value = one.written.get(member)
            if value is not None and not isinstance(value, str):
                kind = (
                    "boolean"
                    if isinstance(value, bool)
                    else "number"
                    if isinstance(value, int | float)
                    else "structure"
                )
                yield Problem((*one.path, member), f"{member} is a {kind} in YAML, and the API takes only texts")
        seconds = one.written.get("tolerationSeconds")
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int)):
            yield Problem((*one.path, "tolerationSeconds"), f"tolerationSeconds is no whole number: {seconds!r}")


def check_refused(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    """What validation says and no rule of its own does."""
    for one in tolerations_of(document, around):
        plain = _plain_or_none(one.written)
        if plain is None:
            continue
        for error in toleration_errors([plain], "", comparison_operators=True):
            where = _INDEXED.search(error.field)
            member = where[2] if where is not None else ""
            is_elsewhere = SECONDS_WITHOUT_NO_EXECUTE in error.body or (
                member == "value" and one.meant.operator in ("Gt", "Lt")
            )
            if not is_elsewhere:
                yield Problem(
                    (*one.path, member) if member else one.path,
                    f"the API refuses {member}: {error.body}{_nearest(member, plain)}",
                )


def _nearest(member: str, written: Mapping[str, Any]) -> str:
    known = {"effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"), "operator": ("Equal", "Exists", "Gt", "Lt")}
    near = difflib.get_close_matches(str(written.get(member, "")), known.get(member, ()), n=1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""


def _plain_or_none(written: Mapping[str, Any]) -> dict[str, Any] | None:
    """None: its types are wrong, which another rule says."""
    if any(not isinstance(written.get(member), str | None) for member in _TEXTS):
        return None
    return {name: value for name, value in written.items() if value is not None and name in MEMBERS}


def check_members(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    for one in tolerations_of(document, around):
        for member in one.written:
            if member not in MEMBERS:
                near = difflib.get_close_matches(str(member), MEMBERS, n=1, cutoff=0.6)
                hint = f"; did you mean {near[0]}?" if near else ""
                yield Problem((*one.path, str(member)), f"a toleration has no member {member}{hint}")


RULES: Final = (
    LintRule(
        id="DM003",
        name="shadowed-toleration",
        summary="A later toleration is covered by an earlier one.",
        why="Of the tolerations that match a NoExecute taint the first in the list counts, even if a later one says "
        "something else. The later one's tolerationSeconds are never used.",
        fix="Put the narrower toleration first, or take one of the two away.",
        check=check_shadowed,
    ),
    LintRule(
        id="DM004",
        name="tolerates-everything",
        summary="Operator Exists with an empty key tolerates every taint.",
        why="Such a pod is placed on cordoned, failing and dedicated nodes, and is never evicted by a taint. When a "
        "node is "
        "drained its replacement may land on the same node again. DaemonSets, which are meant for every node, are "
        "not reported.",
        fix="Name the keys that are meant. For an agent that must run on every node, use a DaemonSet.",
        check=check_everything,
    ),
    LintRule(
        id="DM005",
        name="number-not-canonical",
        summary="Gt or Lt with a value that is no canonical integer.",
        why="The operators Gt and Lt compare whole numbers of 64 bits in their shortest form. `0950`, `+5` or `1e3` is "
        "refused, and would never match.",
        fix="Write the number in decimal digits, without sign or leading zeros, in quotes.",
        check=check_numbers,
        severity=Severity.ERROR,
    ),
    LintRule(
        id="DM006",
        name="seconds-without-no-execute",
        summary="tolerationSeconds with another effect than NoExecute.",
        why="Only NoExecute makes running pods leave, so only there is a time to wait. The API refuses the object.",
        fix="Set `effect: NoExecute`, or take tolerationSeconds away.",
        check=check_seconds,
        severity=Severity.ERROR,
    ),
    LintRule(
        id="DM017",
        name="value-not-text",
        summary="A member of a toleration is a boolean or a number in YAML.",
        why="`value: true`, `value: yes` and `value: 1` without quotes are no texts, and the API refuses the object. "
        "It "
        "often comes from templates that lose the quotes.",
        fix='Write quotes: `value: "true"`. In a Helm template use `| quote`.',
        check=check_types,
        severity=Severity.ERROR,
    ),
    LintRule(
        id="DM018",
        name="refused-toleration",
        summary="The API refuses the toleration.",
        why="An unknown operator or effect, a value with Exists, an empty key without Exists, a key that is no "
        "qualified "
        "name. In a custom resource it shows only when its operator creates pods from it.",
        fix="Write it as the message says.",
        check=check_refused,
        severity=Severity.ERROR,
    ),
    LintRule(
        id="DM019",
        name="unknown-member",
        summary="A toleration has a member that does not exist.",
        why="`tolerationsSeconds` and the like are dropped by servers and clients that do not validate strictly, and "
        "the "
        "toleration then holds for ever.",
        fix="Use the name that the message proposes.",
        check=check_members,
        severity=Severity.ERROR,
    ),
)  # fmt: skip
