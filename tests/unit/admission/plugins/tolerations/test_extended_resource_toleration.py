"""ExtendedResourceToleration."""

from typing import Any

import pytest

from doorman.admission.plugins.tolerations.extended_resource_toleration import ExtendedResourceToleration


def container(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": {name.replace("__", "/").replace("_", "."): q for name, q in requests.items()}}}


def toleration(key: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "operator": "Exists", "effect": "NoSchedule", **more}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [container(cpu="1")]}, None, id="native"),
        pytest.param(
            {"containers": [container(b_x__y="1"), container(a_x__y="1")]},
            [toleration("a.x/y"), toleration("b.x/y")],
            id="sorted",
        ),
        pytest.param(
            {"containers": [], "initContainers": [container(a_x__y="1")]}, [toleration("a.x/y")], id="init-container"
        ),
        pytest.param({"containers": [container(kubernetes_io__y="1")]}, None, id="own-domain"),
        pytest.param(
            {"containers": [container(a_x__y="1")], "tolerations": [{"operator": "Exists"}]},
            [{"operator": "Exists"}, toleration("a.x/y")],
            id="wildcard-does-not-suppress",
        ),
        pytest.param(
            {
                "containers": [container(a_x__y="1")],
                "tolerations": [toleration("a.x/y", tolerationSeconds=5), {"key": "z"}],
            },
            [toleration("a.x/y"), {"key": "z"}],
            id="replaced-in-place",
        ),
    ],
)
def test_toleration_of_the_resource_is_added(spec: Any, expected: Any, world: Any, asked: Any) -> None:
    ExtendedResourceToleration().admit(asked({"metadata": {"name": "p"}, "spec": spec}), world(), 0.0)
    assert spec.get("tolerations") == expected
