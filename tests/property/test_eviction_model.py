"""The taint-eviction-controller against a model of what Kubernetes' does: the same events at the same instants."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.client.actions import Delete
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from support.objects import node, pod, taint, taints, toleration
from support.stage import Stage

PODS = ("p", "q")
TAINTS = st.sampled_from(
    ["", "a:NoExecute", "a=1:NoExecute", "b:NoExecute", "a:NoExecute b:NoExecute", "a:NoExecute c:NoSchedule"]
)
TOLERATIONS = st.sampled_from(
    [
        "",
        "a:NoExecute",
        "a:NoExecute@7 b:NoExecute@20",
        "a:NoExecute@20 b:NoExecute@2",
        "a=1:NoExecute@9",
        "a:NoExecute@0 *",
    ]
)
TAINT = st.tuples(st.just("taint"), TAINTS)
TOLERATE = st.tuples(st.just("tolerate"), st.sampled_from(PODS), TOLERATIONS)
CREATE = st.tuples(st.just("create"), st.sampled_from(PODS), st.sampled_from(("n1", "n1", "")), TOLERATIONS)
STEPS = st.one_of(
    TAINT,
    TAINT,
    TOLERATE,
    CREATE,
    st.tuples(st.just("delete"), st.sampled_from(PODS), st.sampled_from((None, 0))),
    st.sampled_from([("delete node",), ("bind", "p"), ("touch", "p"), ("restart",), ("wait", 2), ("wait", 10)]),
)


class Model:
    """Timers by pod; whoever is told of a change decides at once."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[dict[str, Any]]] = {}
        self.pods: dict[str, tuple[str, list[dict[str, Any]]]] = {}
        """By name: node and tolerations."""
        self.timers: dict[str, float] = {}
        self.told: list[tuple[float, str]] = []
        self.deleted: list[tuple[float, str]] = []

    def pass_time(self, until: float) -> None:
        for name, fires in sorted(self.timers.items(), key=lambda item: item[1]):
            if fires <= until:
                del self.timers[name]
                self._evict(name, fires)

    def node_changed(self, name: str, now: float) -> None:
        for pod_name in self.pods:
            if self.pods[pod_name][0] == name and name in self.nodes:
                if self._bad(name):
                    self._process(pod_name, now)
                else:
                    self._cancel(pod_name, now)

    def pod_changed(self, name: str, now: float) -> None:
        if name not in self.pods:
            self._cancel(name, now)
        elif self._bad(self.pods[name][0]):
            self._process(name, now)

    def restart(self, now: float) -> None:
        self.timers.clear()
        for name in self.nodes:
            self.node_changed(name, now)

    def _bad(self, node_name: str) -> list[dict[str, Any]]:
        return [one for one in self.nodes.get(node_name, []) if one["effect"] == "NoExecute"]

    def _process(self, name: str, now: float) -> None:
        node_name, tolerations = self.pods[name]
        used = []
        for one in self._bad(node_name):
            first = next((t for t in tolerations if _tolerates(t, one)), None)
            if first is None:
                self._cancel(name, now)
                self._evict(name, now)
                return
            used.append(first.get("tolerationSeconds"))
        finite = [seconds for seconds in used if seconds is not None]
        if not finite:
            self._cancel(name, now)
        elif name not in self.timers:
            if min(finite) <= 0:
                self._evict(name, now)
            else:
                self.timers[name] = now + min(finite)

    def _cancel(self, name: str, now: float) -> None:
        if self.timers.pop(name, None) is not None:
            self.told.append((now, f"Cancelling deletion of Pod default/{name}"))

    def _evict(self, name: str, now: float) -> None:
        self.told.append((now, f"Marking for deletion Pod default/{name}"))
        if name in self.pods:
            self.deleted.append((now, name))


def _tolerates(one: dict[str, Any], bad: dict[str, Any]) -> bool:
    if one.get("effect", bad["effect"]) != bad["effect"] or one.get("key", bad["key"]) != bad["key"]:
        return False
    return one["operator"] == "Exists" or one.get("value", "") == bad.get("value", "")


@settings(max_examples=300)
@given(TAINT, st.lists(CREATE, min_size=1, max_size=2), st.lists(STEPS, min_size=5, max_size=15))
def test_evictions_are_told_and_done_as_in_the_model(
    first: tuple[Any, ...], pods: list[tuple[Any, ...]], steps: list[tuple[Any, ...]]
) -> None:
    stage, model = Stage(), Model()
    controller = TaintEvictionController(stage.caches["nodes"], stage.caches["pods"])
    stage.add(controller)
    stage.settle()
    for step in (first, *pods, *steps):
        controller = _take(stage, model, controller, step)
        stage.settle()
        stage.advance(1)
        model.pass_time(stage.elapsed)
    stage.advance(30)
    model.pass_time(stage.elapsed)
    assert sorted(stage.messages("TaintManagerEviction")) == sorted(model.told)
    assert sorted((at, action.name) for at, action in stage.done(Delete, "pods")) == sorted(model.deleted)
    assert controller.timers_pending == len(model.timers) == 0
    assert controller._pending == {}


def _take(
    stage: Stage, model: Model, controller: TaintEvictionController, step: tuple[Any, ...]
) -> TaintEvictionController:
    """One step on the stage and in the model. What cannot be done now is left out."""
    now, kind, name = stage.elapsed, step[0], step[1] if len(step) > 1 else ""
    key = f"default/{name}"
    match kind:
        case "taint":
            wanted = [taint(one) for one in step[1].split()]
            before = model.nodes.get("n1")
            model.nodes["n1"] = wanted
            if before is None:
                stage.create("nodes", node("n1", taints=step[1]))
            else:
                stage.patch("nodes", "n1", taints(step[1]))
            if before is None or _no_execute(before) != _no_execute(wanted):
                model.node_changed("n1", now)
        case "delete node" if "n1" in model.nodes:
            del model.nodes["n1"]
            stage.delete("nodes", "n1")
        case "create" if name not in model.pods:
            model.pods[name] = (step[2], [toleration(one) for one in step[3].split()])
            stage.create("pods", pod(name, step[2], tolerations=step[3]))
            model.pod_changed(name, now)
        case "tolerate" if name in model.pods:
            where, before = model.pods[name]
            wanted = [toleration(one) for one in step[2].split()]
            model.pods[name] = (where, wanted)
            stage.patch("pods", key, {"spec": {"tolerations": wanted}})
            if before != wanted:
                model.pod_changed(name, now)
        case "bind" if name in model.pods and not model.pods[name][0]:
            model.pods[name] = ("n1", model.pods[name][1])
            stage.patch("pods", key, {"spec": {"nodeName": "n1"}})
            model.pod_changed(name, now)
        case "touch" if name in model.pods:
            stage.patch("pods", key, {"status": {"message": str(now)}})
        case "delete" if name in model.pods:
            stage.delete("pods", key, grace_seconds=step[2])
            if stage.get("pods", key) is None:
                del model.pods[name]
                model.pod_changed(name, now)
        case "restart":
            renewed = TaintEvictionController(stage.caches["nodes"], stage.caches["pods"])
            stage.restart(controller, renewed)
            model.restart(now)
            return renewed
        case "wait":
            stage.advance(step[1])
            model.pass_time(stage.elapsed)
    return controller


def _no_execute(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in found if one["effect"] == "NoExecute"]
