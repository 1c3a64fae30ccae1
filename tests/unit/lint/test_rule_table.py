"""The table of rules, and the page that explains them."""

from pathlib import Path

import pytest

from doorman.lint.rule_table import RULES, UnknownRule, chosen_rules

PAGE = (Path(__file__).parents[3] / "docs" / "lint.md").read_text()


def test_ids_and_names_are_unique_and_without_gaps() -> None:
    assert list(RULES) == [f"DM{number:03d}" for number in range(1, len(RULES) + 1)]
    assert len({rule.name for rule in RULES.values()}) == len(RULES)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_page_says_of_every_rule_what_the_table_says(rule: object) -> None:
    from doorman.lint.rule_docs import rule_section

    assert rule_section(rule) in PAGE  # type: ignore[arg-type]  # a rule


@pytest.mark.parametrize(
    ("select", "ignore", "found"),
    [
        (["DM004"], [], ["DM004"]),
        (["dm004"], [], ["DM004"]),
        (["tolerates-everything"], [], ["DM004"]),
        (["DM01"], ["DM010", "legacy-key"], [f"DM{number:03d}" for number in range(12, 20)]),
        ([], ["DM"], []),
    ],
)
def test_choice(select: list[str], ignore: list[str], found: list[str]) -> None:
    assert [rule.id for rule in chosen_rules(select, ignore)] == found


@pytest.mark.parametrize("text", ["", "DM999", "X", "nonsense"])
def test_rule_that_does_not_exist(text: str) -> None:
    with pytest.raises(UnknownRule):
        chosen_rules([text])
