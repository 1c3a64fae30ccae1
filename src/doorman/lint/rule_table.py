"""All rules by id, and which of them are asked for."""

from collections.abc import Iterable, Mapping
from typing import Final

from doorman.lint.lint_rule import LintRule
from doorman.lint.rules import (
    budget_rules,
    device_rules,
    placement_rules,
    taint_key_rules,
    toleration_rules,
    workload_rules,
)

_FAMILIES: Final = (toleration_rules, taint_key_rules, placement_rules, workload_rules, budget_rules, device_rules)

RULES: Final[Mapping[str, LintRule]] = {
    rule.id: rule for rule in sorted((rule for family in _FAMILIES for rule in family.RULES), key=lambda rule: rule.id)
}


class UnknownRule(ValueError):
    """Somebody asks for a rule that does not exist."""


def chosen_rules(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> list[LintRule]:
    """By id, by the beginning of one (`DM01`) or by name; nothing selected is everything. Raises UnknownRule."""
    selected = {rule.id for text in select for rule in _named(text)} or set(RULES)
    ignored = {rule.id for text in ignore for rule in _named(text)}
    return [rule for rule in RULES.values() if rule.id in selected - ignored]


def _named(text: str) -> list[LintRule]:
    wanted = text.strip()
    found = [rule for rule in RULES.values() if rule.name == wanted.lower() or rule.id.startswith(wanted.upper())]
    if not wanted or not found:
        raise UnknownRule(f'there is no rule "{text}"')
    return found
