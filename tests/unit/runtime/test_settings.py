"""Which controllers run."""

import pytest

from doorman.runtime.controller_registry import CONTROLLERS
from doorman.runtime.settings import CONTROLLER_ALIASES, is_enabled, without_aliases


@pytest.mark.parametrize(
    ("controllers", "expected"),
    [
        pytest.param(("*",), True, id="star"),
        pytest.param(("*", "-taint-eviction-controller"), False, id="star-without-it"),
        pytest.param(("-taint-eviction-controller", "*"), False, id="order-of-the-star-does-not-matter"),
        pytest.param(("-job-controller",), False, id="without-a-star-nothing-runs"),
        pytest.param(("taint-eviction-controller",), True, id="named"),
        pytest.param(("job-controller",), False, id="another-is-named"),
        pytest.param(
            ("taint-eviction-controller", "-taint-eviction-controller"), True, id="first-mention-decides-for-it"
        ),
        pytest.param(
            ("-taint-eviction-controller", "taint-eviction-controller", "*"), False, id="first-mention-decides-against"
        ),
        pytest.param((), False, id="empty"),
    ],
)
def test_list_of_controllers(controllers: tuple[str, ...], expected: bool) -> None:
    assert is_enabled("taint-eviction-controller", controllers) is expected


def test_old_names_mean_controllers_that_there_are() -> None:
    assert set(CONTROLLER_ALIASES.values()) <= set(CONTROLLERS)
    assert not set(CONTROLLER_ALIASES) & set(CONTROLLERS)
    assert without_aliases(("*", "-nodelifecycle", "podgc", "-taint-eviction-controller")) == (
        "*", "-node-lifecycle-controller", "pod-garbage-collector-controller", "-taint-eviction-controller",
    )  # fmt: skip
