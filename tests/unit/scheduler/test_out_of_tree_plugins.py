"""Plugins of others: per node, over columns, found by entry point, and what happens when they break."""

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doorman.scheduler import out_of_tree_plugins as extension
from doorman.scheduler.config.config_file import read_config
from doorman.scheduler.config.scheduler_config import DEFAULT_ORDER, Profile, SchedulerConfig
from doorman.scheduler.framework import Detail, Scope
from doorman.scheduler.out_of_tree_plugins import Refusal, adapted, find_plugins
from doorman.scheduler.outcomes import Placed, Rejected
from support.scheduling import Desk

EXAMPLE = Path(__file__).parents[3] / "examples" / "scheduler-plugin"


def desk_with(name: str, make: Any, *, weight: int = 1) -> Desk:
    profile = Profile(filters=(*DEFAULT_ORDER, name), scores=(*Profile().scores, (name, weight)))
    return Desk(SchedulerConfig(profiles=(profile,)), plugins={name: make})


class Choosy:
    name = "Choosy"

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def filter(self, pod: Any, node: Any) -> Any:
        self.asked.append(node.node.metadata.name)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if node.node.metadata.name != "good" else None

    def score(self, pod: Any, node: Any) -> int:
        return min(len(node.pods), 100)


def test_example_plugin_runs_as_its_own_configuration_says() -> None:
    spec = importlib.util.spec_from_file_location("licence_seats", EXAMPLE / "licence_seats.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    desk = Desk(read_config((EXAMPLE / "scheduler.yaml").read_text()), plugins={"LicenceSeats": module.make})
    desk.node("seats", labels={"example.com/licence-seats": "1"})
    desk.node("plain")
    annotations = {"annotations": {"example.com/needs-licence": "true"}}
    desk.pod("a", metadata=annotations)
    desk.pod("b", metadata=annotations)
    desk.pod("free")
    desk.settle()
    assert (desk.where("a"), desk.where("free")) == ("seats", "plain")
    assert desk.messages["b"].startswith("0/2 nodes are available: 2 node(s) had no free licence seat. preemption: ")
    desk.remove_pod("a")
    desk.settle()
    assert desk.where("b") == "seats"


@pytest.mark.parametrize(
    ("answer", "preemption"),
    [
        pytest.param("node is noisy", "1 No preemption victims found for incoming pod", id="reason"),
        pytest.param(Refusal("node is noisy", final=True), "1 Preemption is not helpful for scheduling", id="final"),
    ],
)
def test_refusal_says_whether_preemption_can_help(answer: Any, preemption: str) -> None:
    desk = desk_with("Choosy", lambda _args: Choosy(answer))
    desk.node("bad")
    desk.pod("p")
    desk.settle()
    assert desk.messages["p"] == (
        f"0/1 nodes are available: 1 node is noisy. preemption: 0/1 nodes are available: {preemption}."
    )
    desk.node("good")
    desk.settle()
    assert desk.where("p") == "good"


def test_score_of_a_plugin_counts_with_its_weight() -> None:
    desk = desk_with("Choosy", lambda _args: Choosy(), weight=1000)
    desk.node("n1")
    desk.node("n2")
    desk.pod("there", node="n2")
    desk.pod("p")
    desk.settle()
    assert desk.where("p") == "n2"


def test_broken_plugin_is_an_error_and_not_a_rejection() -> None:
    desk = desk_with("Choosy", lambda _args: Choosy(RuntimeError("no idea")))
    desk.node("n1")
    desk.pod("p")
    (outcome,) = desk.run()
    assert isinstance(outcome, Rejected)
    assert (outcome.reason, outcome.message) == ("SchedulerError", 'running "Choosy" filter plugin: no idea')
    assert desk.run() == []
    assert desk.scheduler.next_wake() is not None


def test_score_out_of_range_is_an_error() -> None:
    class Wild:
        name = "Wild"

        def score(self, pod: Any, node: Any) -> int:
            return 101

    desk = desk_with("Wild", lambda _args: Wild())
    desk.node("n1")
    desk.node("n2")
    desk.pod("p")
    (outcome,) = desk.run()
    assert isinstance(outcome, Rejected)
    assert outcome.message.startswith('plugin "Wild" returns an invalid score 101')


def test_normalise_makes_scores_of_anything() -> None:
    class Bytes:
        name = "Bytes"

        def signature(self, pod: Any) -> None:
            return None

        def score(self, pod: Any, node: Any) -> int:
            return int(node.node.metadata.labels["size"])

        def normalise(self, raw: list[int]) -> list[int]:
            return [100 * value // max(raw) for value in raw]

    desk = desk_with("Bytes", lambda _args: Bytes(), weight=1000)
    for at in range(3):
        desk.node(f"n{at}", labels={"size": str(10**6 * (at + 1))}, cpu="1")
    for at in range(3):
        desk.pod(f"p{at}", requests={"cpu": "1"})
    desk.settle()
    assert [desk.where(f"p{at}") for at in range(3)] == ["n2", "n1", "n0"]


def test_pods_that_agree_in_the_signature_share_answers() -> None:
    plugin = Choosy()
    plugin.signature = lambda pod: pod.metadata.annotations  # type: ignore[attr-defined]
    plugin.reads_pods = False  # type: ignore[attr-defined]
    desk = desk_with("Choosy", lambda _args: plugin)
    for at in range(10):
        desk.node(f"n{at}")
    for at in range(50):
        desk.pod(f"p{at}")
    desk.settle()
    assert len(plugin.asked) == 10


def test_plugin_over_columns() -> None:
    class Even:
        name = "Even"
        filter_scope = Scope.NODE

        def signature(self, pod: Any) -> None:
            return None

        def filter_for(self, shape: Any, cluster: Any) -> "Even":
            return self

        def codes(self, rows: Any) -> Any:
            return np.arange(4)[rows] % 2

        def reasons(self, code: int) -> Sequence[str]:
            return ["odd node"]

        def details(self, row: int) -> Sequence[Detail]:
            return [Detail(reason="odd node")] if row % 2 else []

    desk = desk_with("Even", lambda _args: Even())
    for at in range(4):
        desk.node(f"n{at}", cpu="1")
    for at in range(3):
        desk.pod(f"p{at}", requests={"cpu": "1"})
    desk.settle()
    assert {desk.where("p0"), desk.where("p1")} == {"n0", "n2"}
    assert desk.messages["p2"].startswith("0/4 nodes are available: 2 Insufficient cpu, 2 odd node.")


def test_plugins_are_found_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name = "Choosy"

        def load(self) -> Any:
            return lambda args: Choosy(args.get("answer"))

    monkeypatch.setattr(extension, "entry_points", lambda group: [Entry()] if group.startswith("doorman.") else [])
    found = find_plugins()
    assert list(found) == ["Choosy"]
    arguments: Mapping[str, Any] = {"answer": "no"}
    assert found["Choosy"](arguments).answer == "no"


def test_unknown_and_empty_plugins_are_refused() -> None:
    class Nothing:
        name = "Nothing"

    with pytest.raises(ValueError, match="neither filter nor score"):
        adapted(Nothing())
    with pytest.raises(ValueError, match="Missing does not exist"):
        Desk(SchedulerConfig(profiles=(Profile(filters=("Missing",)),)))


def test_placed_pod_has_a_score_with_plugins_too() -> None:
    desk = desk_with("Choosy", lambda _args: Choosy())
    desk.node("n1")
    desk.node("n2")
    desk.pod("p")
    (outcome,) = desk.run()
    assert isinstance(outcome, Placed)
    assert outcome.score > 0
