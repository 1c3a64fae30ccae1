"""Bindings: their faults are a 500 with bare text."""

from typing import Any

import pytest

from doorman.base.errors import ApiError
from doorman.semantics.name_syntax import SUBDOMAIN_FAULT
from doorman.validation.pods.binding import check_binding


@pytest.mark.parametrize(
    ("target", "message"),
    [
        pytest.param({"kind": "Node"}, "target.name: Required value", id="no-name"),
        pytest.param({"name": "A"}, f'target.name: Invalid value: "A": {SUBDOMAIN_FAULT}', id="no-subdomain"),
        pytest.param(
            {"kind": "Pod", "name": "n"},
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
            id="other-kind",
        ),
        pytest.param(
            {"kind": "Pod", "name": "A"},
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
            id="name-of-something-else",
        ),
        pytest.param(
            {"kind": "Pod"},
            '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]',
            id="neither",
        ),
    ],
)
def test_check_binding_refuses(target: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as refused:
        check_binding({"target": target})
    assert (refused.value.code, refused.value.reason, refused.value.message) == (500, "", message)


def test_check_binding_accepts_a_node() -> None:
    check_binding({"target": {"kind": "Node", "name": "n1"}})
    check_binding({"target": {"name": "n1"}})
