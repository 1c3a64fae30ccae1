"""`doorman.testing.Cluster`: what people write their own tests with."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from doorman.testing import ApiError, Cluster, PlanError

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]
  containers: [{name: c, image: registry.k8s.io/pause:3.10}]
"""


def test_pod_leaves_at_its_second_and_not_before() -> None:
    with Cluster(nodes=1) as cluster:
        cluster.apply(POD)
        cluster.run_until("pod/web", "condition=Ready")
        cluster.taint("node-1", "k=v:NoExecute")
        cluster.advance(59)
        assert [pod["metadata"]["name"] for pod in cluster.pods(node="node-1")] == ["web"]
        cluster.run_until("pod/web", "delete", timeout="2s")
        assert cluster.elapsed == 60
        assert cluster.now == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
        assert len(cluster.events("pod/web", reason="TaintManagerEviction")) == 1


def test_apply_takes_files_folders_texts_objects_and_lists(tmp_path: Path) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "one"}}
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "more.json").write_text(json.dumps({**space, "metadata": {"name": "two"}}))
    with Cluster(nodes=1) as cluster:
        assert [one["kind"] for one in cluster.apply(tmp_path)] == ["Namespace", "Pod"]
        assert cluster.apply(tmp_path / "pod.yaml")[0]["metadata"]["name"] == "web"
        assert cluster.apply(str(tmp_path / "more.json"))[0]["metadata"]["name"] == "two"
        listed = {"apiVersion": "v1", "kind": "List", "items": [space]}
        assert cluster.apply(listed)[0]["status"]["phase"] == "Active"
        assert cluster.apply([space, space])[1]["metadata"]["name"] == "one"
        assert cluster.get("ns", "two")["apiVersion"] == "v1"
        assert {one["metadata"]["name"] for one in cluster.get("namespaces")} >= {"one", "two", "default"}


def test_errors_are_kubernetes_own() -> None:
    with Cluster(nodes=1) as cluster:
        with pytest.raises(ApiError) as missing:
            cluster.get("pod/web")
        assert missing.value.status()["reason"] == "NotFound"
        assert missing.value.status()["message"] == 'pods "web" not found'
        with pytest.raises(ApiError) as invalid:
            cluster.apply(POD.replace("effect: NoExecute", "effect: NoSchedule"))
        assert invalid.value.status()["code"] == 422
        assert invalid.value.causes[0].field == "spec.tolerations[0].effect"
        cluster.taint("node-1", "k:NoExecute")
        with pytest.raises(ValueError, match="already has k taint"):
            cluster.taint("node-1", "k:NoExecute")
        with pytest.raises(ValueError, match='did you mean "pods"'):
            cluster.get("podz")
        with pytest.raises(ValueError, match="no node is named"):
            cluster.fail()
        with pytest.raises(ValueError, match="backwards"):
            cluster.advance("-5m")
        with pytest.raises(TimeoutError, match="pod/web create: not within 1m0s"):
            cluster.run_until("pod/web", "create", timeout="1m")


def test_taints_take_kubectls_grammar() -> None:
    with Cluster(nodes=["big", "small"]) as cluster:
        cluster.taint(["big", "small"], "a=1:NoSchedule", "b:NoExecute")
        cluster.taint("big", "a=2:NoSchedule", overwrite=True)
        cluster.taint("small", "a-", "b:NoExecute-")
        assert [(t["key"], t.get("value")) for t in cluster.get("node", "big")["spec"]["taints"]] == [
            ("a", "2"),
            ("b", None),
        ]
        assert "taints" not in cluster.get("node", "small")["spec"]


def test_zone_fails_and_recovers() -> None:
    with Cluster(nodes=6, zones=["a", "b"], node_monitor_grace_period="20s") as cluster:
        assert cluster.fail(zone="b") == ["node-2", "node-4", "node-6"]
        cluster.run_until("node/node-6", "condition=Ready=Unknown", timeout="30s")
        cluster.recover(zone="b")
        cluster.run_until("node/node-6", "condition=Ready", timeout="30s")


def test_idle_waits_for_what_is_due_in_an_hour() -> None:
    with Cluster(nodes=1) as cluster:
        cluster.apply(POD.replace("tolerationSeconds: 60", "tolerationSeconds: 3600"))
        cluster.taint("node-1", "k:NoExecute")
        cluster.run_until_idle()
        assert cluster.pods() == []
        assert 3600 <= cluster.elapsed < 3 * 3600
        cluster.apply(POD)
        with pytest.raises(TimeoutError, match="still not idle after 1s"):
            cluster.run_until_idle(timeout="1s")


def test_one_seed_gives_one_run() -> None:
    def run() -> object:
        with Cluster(nodes=4, zones=["a", "b"], seed=5) as cluster:
            template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            spec = {"replicas": 7, "selector": {"matchLabels": {"app": "x"}}, "template": template}
            cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec})
            cluster.fail("node-2")
            cluster.advance("10m")
            return cluster.pods(), cluster.events()

    assert run() == run()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        pytest.param({"data_dir": "x"}, "data_dir is no setting", id="place"),
        pytest.param({"node_monitor_period": "0s"}, "must be more than 0", id="number"),
        pytest.param({"controllers": ["nobody"]}, "not in the list of known controllers", id="controller"),
        pytest.param({"zones": "ab"}, "zones are a list", id="zones"),
    ],
)
def test_settings_that_make_no_sense(flags: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Cluster(**flags)  # type: ignore[arg-type]  # that is the point


def test_plan_says_what_then_happens_and_changes_nothing() -> None:
    with Cluster(nodes=3) as cluster:
        cluster.apply(POD)
        node = cluster.get("pod/web")["spec"]["nodeName"]
        before = cluster.pods()
        planned = cluster.plan("taint", node, "k=v:NoExecute")
        assert cluster.pods() == before
        assert planned["kind"] == "Plan"
        assert [(pod["name"], pod["node"], pod["atSeconds"]) for pod in planned["pods"]] == [("web", node, 60.0)]
        cluster.taint(node, "k=v:NoExecute")
        cluster.run_until("pod/web", "delete")
        assert cluster.elapsed == 60


@pytest.mark.parametrize(
    ("verb", "arguments", "options"),
    [
        pytest.param("drain", ("node-1",), {}, id="drain"),
        pytest.param("lose", (), {"zone": "a", "span": "10m"}, id="lose"),
        pytest.param("apply", (), {"manifests": POD}, id="apply"),
    ],
)
def test_plans_of_every_kind(verb: str, arguments: tuple[str, ...], options: dict[str, str]) -> None:
    with Cluster(nodes=2, zones=["a", "b"]) as cluster:
        assert cluster.plan(verb, *arguments, **options)["summary"]["pending"] == 0  # type: ignore[arg-type]  # texts


def test_plans_that_cannot_be_made() -> None:
    with Cluster(nodes=1) as cluster:
        for verb, arguments, told in (
            ("explode", ("node-1",), "cannot be planned"),
            ("drain", (), "which nodes"),
            ("taint", ("node-1", "k:Nope"), "invalid taint effect"),
        ):
            with pytest.raises(ValueError, match=told):
                cluster.plan(verb, *arguments)
        with pytest.raises(PlanError, match='no node "node-9"'):
            cluster.plan("drain", "node-9")
        with pytest.raises(PlanError, match="horizon"):
            cluster.plan("drain", "node-1", horizon=0)


@pytest.mark.parametrize("replicas", [2, 5])
def test_planned_loss_is_what_then_happens_to_a_deployment(replicas: int) -> None:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    with Cluster(nodes=6, zones=["a", "b", "c"]) as cluster:
        cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec})
        cluster.advance("1m")
        before = {pod["metadata"]["name"] for pod in cluster.pods()}
        lost = cluster.pods()[0]["spec"]["nodeName"]
        (planned,) = cluster.plan("lose", lost)["pods"]
        began = cluster.elapsed
        cluster.fail(lost)
        cluster.run_until(f"pod/{planned['name']}", "jsonpath={.metadata.deletionTimestamp}")
        assert round(cluster.elapsed - began, 6) == planned["atSeconds"]
        cluster.run_until(lambda: {pod["metadata"]["name"] for pod in cluster.pods()} - before)
        (new,) = (pod for pod in cluster.pods() if pod["metadata"]["name"] not in before)
        assert new["spec"]["nodeName"] == planned["replacement"]["node"]
