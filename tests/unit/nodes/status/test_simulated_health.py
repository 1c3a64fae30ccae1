"""How a simulated node is doing, by annotation and by script."""

import pytest

from doorman.nodes.status.simulated_health import ScriptError, health_at, parse_conditions, parse_script


@pytest.mark.parametrize(
    ("annotations", "age", "silent", "conditions", "changes_at"),
    [
        pytest.param({}, 5.0, False, {}, None, id="good-health"),
        pytest.param({"silent": "true"}, 5.0, True, {}, None, id="silent"),
        pytest.param({"silent": "false"}, 5.0, False, {}, None, id="not-silent"),
        pytest.param({"conditions": "Ready=False"}, 5.0, False, {"Ready": "False"}, None, id="conditions"),
        pytest.param({"script": "silent 30s-90s"}, 0.0, False, {}, 30.0, id="before"),
        pytest.param({"script": "silent 30s-90s"}, 30.0, True, {}, 90.0, id="from-the-beginning"),
        pytest.param({"script": "silent 30s-90s"}, 89.9, True, {}, 90.0, id="until-the-end"),
        pytest.param({"script": "silent 30s-90s"}, 90.0, False, {}, None, id="at-the-end"),
        pytest.param({"script": "Ready=False 10s-"}, 1e6, False, {"Ready": "False"}, None, id="open-span"),
        pytest.param({"script": "Ready=False 0s-5s/20s"}, 44.0, False, {"Ready": "False"}, 45.0, id="flap-on"),
        pytest.param({"script": "MemoryPressure=True 0s-5s/20s"}, 46.0, False, {}, 60.0, id="flap-off"),
        pytest.param({"script": "MemoryPressure=True 5s-10s/20s"}, 21.0, False, {}, 25.0, id="flap-second-round"),
        pytest.param(
            {"script": "Ready=False 0s-10s; Ready=True 5s-10s"}, 6.0, False, {"Ready": "True"}, 10.0, id="later-counts"
        ),
        pytest.param(
            {"script": "Ready=False 0s-9s", "conditions": "Ready=True"}, 6.0, False, {"Ready": "True"}, 9.0, id="plain"
        ),
    ],
)  # fmt: skip
def test_health(
    annotations: dict[str, str], age: float, silent: bool, conditions: dict[str, str], changes_at: float | None
) -> None:
    health = health_at({f"doorman.dev/{name}": text for name, text in annotations.items()}, 1000.0, 1000.0 + age)
    assert (health.silent, health.conditions, health.error) == (silent, conditions, "")
    assert health.changes_at == (None if changes_at is None else 1000.0 + changes_at)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        pytest.param("silent", "want", id="no-span"),
        pytest.param("silent 5s", "want", id="no-dash"),
        pytest.param("silent 5x-9s", "unknown unit", id="no-duration"),
        pytest.param("silent 9s-5s", "the end is not after the beginning", id="backwards"),
        pytest.param("silent 5s-/9s", "must end", id="open-and-repeating"),
        pytest.param("silent 5s-10s/9s", "must end", id="longer-than-its-round"),
        pytest.param("silent 0s-1ms/2ms", "nothing repeats more often than every 1s", id="too-fast"),
        pytest.param(f"silent 0s-1s/{'9' * 400}s", "invalid duration", id="beyond-all-time"),
        pytest.param("Happy=True 1s-2s", "want", id="unknown-condition"),
        pytest.param("Ready=Unknown 1s-2s", "Ready=True or Ready=False", id="unknown-status"),
    ],
)
def test_script_that_cannot_be_read(script: str, complaint: str) -> None:
    with pytest.raises(ScriptError, match=complaint):
        parse_script(script)
    health = health_at({"doorman.dev/script": script, "doorman.dev/silent": "true"}, 0.0, 1.5)
    assert health.silent
    assert complaint in health.error


def test_conditions_that_cannot_be_read_are_reported_and_passed_over() -> None:
    with pytest.raises(ScriptError):
        parse_conditions("Ready")
    assert health_at({"doorman.dev/conditions": "Ready"}, 0.0, 1.0).conditions == {}


@pytest.mark.parametrize(
    ("said", "silent"),
    [
        pytest.param({}, True, id="script"),
        pytest.param({"doorman.dev/silent": "false"}, False, id="annotation-counts-more"),
        pytest.param({"doorman.dev/silent": "nonsense"}, True, id="nonsense-counts-as-nothing"),
    ],
)
def test_silence_by_script_ends_when_the_annotation_says_so(said: dict[str, str], silent: bool) -> None:
    assert health_at({"doorman.dev/script": "silent 0s-", **said}, 0.0, 5.0).silent is silent


@pytest.mark.parametrize("tenths", range(1, 60))
@pytest.mark.parametrize("created", [1767225600.0, 1794778280.0])
def test_node_that_looks_when_it_was_told_finds_the_next_change_ahead(tenths: int, created: float) -> None:
    begin = tenths / 10
    script = f"silent {begin:g}s-{begin + 0.7:g}s/{begin + 1.1:g}s; Ready=False 0s-{begin:g}s/{begin + 1.3:g}s"
    now = created
    for _ in range(20):
        changes_at = health_at({"doorman.dev/script": script}, created, now).changes_at
        assert changes_at is not None
        assert changes_at > now
        now = changes_at
