"""DefaultTolerationSeconds."""

from typing import Any

import pytest

from doorman.admission.plugins.tolerations.default_toleration_seconds import DefaultTolerationSeconds

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


def default(key: str, seconds: int) -> dict[str, Any]:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


@pytest.mark.parametrize(
    ("tolerations", "added"),
    [
        pytest.param([], [default(NOT_READY, 30), default(UNREACHABLE, 40)], id="none"),
        pytest.param([{"operator": "Exists"}], [], id="all"),
        pytest.param([{"key": NOT_READY, "operator": "Exists"}], [default(UNREACHABLE, 40)], id="every-effect"),
        pytest.param(
            [{"key": UNREACHABLE, "operator": "Equal", "value": "x", "effect": "NoExecute"}],
            [default(NOT_READY, 30)],
            id="value-not-looked-at",
        ),
        pytest.param(
            [{"operator": "Exists", "effect": "NoSchedule"}],
            [default(NOT_READY, 30), default(UNREACHABLE, 40)],
            id="other-effect",
        ),
    ],
)
def test_missing_tolerations_are_appended(tolerations: Any, added: Any, world: Any, asked: Any) -> None:
    plugin = DefaultTolerationSeconds(not_ready_seconds=30, unreachable_seconds=40)
    pod = {"metadata": {"name": "p"}, "spec": {"tolerations": list(tolerations)}}
    for _ in range(2):
        plugin.admit(asked(pod), world(), 0.0)
        assert pod["spec"]["tolerations"] == [*tolerations, *added]
