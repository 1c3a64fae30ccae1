"""kubectl's templates, held against what kubectl prints where it matters (tests/cli/test_get.py)."""

from typing import Any

import pytest

from doorman.cli.objects.jsonpath_template import TemplateError, render

DOC: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "x"}},
    "items": [
        {"name": "a", "n": 1, "ok": True, "tags": ["p", "q"]},
        {"name": "b", "n": 2, "ok": False, "tags": []},
        {"name": "c", "n": 3, "nested": {"name": "d"}},
    ],
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{.metadata.name}", "web"),
        ("name: {.metadata.name}!", "name: web!"),
        ("{.items[*].name}", "a b c"),
        ("{.items[0].name} {.items[-1].name}", "a c"),
        ("{.items[0:2].name}", "a b"),
        ("{.items[?(@.name==\"b\")].n}", "2"),
        ("{.items[?(@.n>1)].name}", "b c"),
        ("{.items[?(@.nested)].name}", "c"),
        ("{..name}", "web a b c d"),
        ("{.metadata.labels.app\\.kubernetes\\.io/name}", "x"),
        ("{.metadata.labels['app.kubernetes.io/name']}", "x"),
        ("{.items[0].ok} {.items[0].tags}", 'true ["p","q"]'),
        ("{.nothing}", ""),
        ("{range .items[*]}{.name}{\"\\t\"}{.n}{\"\\n\"}{end}", "a\t1\nb\t2\nc\t3\n"),
        ("{range .items[*]}{range .tags[*]}{@},{end};{end}", "p,q,;;;"),
        ("{range .nothing[*]}{.name}{end}done", "done"),
        ("{$.metadata.name}", "web"),
    ],
)  # fmt: skip
def test_templates(template: str, expected: str) -> None:
    assert render(template, DOC) == expected


@pytest.mark.parametrize(
    "template", ["{.a", "{range .items[*]}{.name}", "{.name}{end}", "{.a[}", '{"open}', "{.a[?(b)]}"]
)
def test_what_cannot_be_read_is_told(template: str) -> None:
    with pytest.raises(TemplateError):
        render(template, {"a": [1]})
