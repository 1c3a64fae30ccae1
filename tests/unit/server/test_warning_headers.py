"""Warnings are cut as Kubernetes cuts them."""

import pytest

from doorman.base.bounds import WARNING_CHARACTERS_MAX, WARNINGS_CHARACTERS_MAX
from doorman.server.warning_headers import truncated, warning_headers
from support.api import running_api

LONG = "x" * (WARNINGS_CHARACTERS_MAX - 10)


@pytest.mark.parametrize(
    ("warnings", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["a", "", "a", "b"], ["a", "b"], id="once-and-not-empty"),
        pytest.param([LONG, "y" * 10], [LONG, "y" * 10], id="just-fits"),
        pytest.param(
            [LONG, "y" * 11, "z" * 300],
            [LONG[:WARNING_CHARACTERS_MAX], "y" * 11, "z" * WARNING_CHARACTERS_MAX],
            id="too-long-together-each-is-cut",
        ),
        pytest.param(
            [f"{i:0300}" for i in range(40)], [f"{i:0300}"[:256] for i in range(16)], id="cut-ones-fill-the-limit"
        ),
    ],
)
def test_truncated(warnings: list[str], expected: list[str]) -> None:
    assert truncated(warnings) == expected


def test_header_holds_no_quote_and_no_line_end() -> None:
    assert warning_headers(['a"b\\c\n']) == [("Warning", '299 - "a\\"b\\\\c"')]


async def test_of_two_hundred_unknown_fields_a_hundred_are_told() -> None:
    body = {"metadata": {"name": "a"}, **{f"unknown{i}": 1 for i in range(200)}}
    async with running_api() as api:
        answer = await api.answer("POST", "/api/v1/namespaces/default/configmaps", body)
    assert answer.status == 201
    assert sum(name == "Warning" for name, _ in answer.headers) == 100
