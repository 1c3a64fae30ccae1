"""A running server whose scheduler asks extenders."""

import json
from pathlib import Path
from typing import Any

import yaml

from support.extender import FakeExtender
from support.server import Server, fetch


def configuration(folder: Path, *extenders: dict[str, Any]) -> str:
    path = folder / "scheduler.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": list(extenders),
    }
    path.write_text(yaml.safe_dump(document))
    return str(path)


def make_pod(server: Server, name: str, **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i", **spec}]}}
    status, _, answer = fetch(server, "POST", "/api/v1/namespaces/default/pods", body=json.dumps(body).encode())
    assert status == 201, answer


def wait_for(server: Server, name: str, condition: str) -> None:
    done = server.kubectl("wait", "pod", name, f"--for={condition}", "--timeout=20s")
    assert done.returncode == 0, done.stderr


def read(server: Server, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fetch(server, "GET", f"/api/v1/namespaces/default/pods/{name}")[2])
    return found


def test_filter_scores_and_reasons_of_an_extender_decide(tmp_path: Path) -> None:
    def chosen(args: dict[str, Any]) -> dict[str, Any]:
        pod = args["Pod"]["metadata"]["name"]
        if pod == "nowhere":
            return {"NodeNames": [], "FailedNodes": dict.fromkeys(args["NodeNames"], "no gpu left")}
        return {"NodeNames": [name for name in args["NodeNames"] if name != "node-1"]}

    with FakeExtender(filter=chosen, prioritize=lambda _: [{"Host": "node-3", "Score": 10}]) as fake:
        entry = {
            "urlPrefix": fake.url,
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "weight": 5,
            "nodeCacheCapable": True,
        }
        flags = ("--nodes", "3", "--config", configuration(tmp_path, entry))
        with Server(tmp_path, *flags) as server:
            make_pod(server, "p")
            wait_for(server, "p", "condition=Ready")
            assert read(server, "p")["spec"]["nodeName"] == "node-3"
            make_pod(server, "nowhere")
            wait_for(server, "nowhere", "condition=PodScheduled=False")
            (scheduled,) = read(server, "nowhere")["status"]["conditions"]
            assert scheduled["message"].startswith("0/3 nodes are available: 3 no gpu left. ")
        args = next(args for verb, args in fake.asked if verb == "filter")
        assert args["Pod"]["spec"]["containers"][0]["image"] == "i"
        assert sorted(args["NodeNames"]) == ["node-1", "node-2", "node-3"]


def test_extender_binds_what_it_manages_and_nothing_else(tmp_path: Path) -> None:
    held: list[Server] = []

    def bind(args: dict[str, Any]) -> dict[str, Any]:
        binding = {"metadata": {"name": args["PodName"]}, "target": {"kind": "Node", "name": args["Node"]}}
        path = f"/api/v1/namespaces/{args['PodNamespace']}/pods/{args['PodName']}/binding"
        status, _, answer = fetch(held[0], "POST", path, body=json.dumps(binding).encode())
        return {} if status == 201 else {"Error": answer.decode()}

    with FakeExtender(bind=bind) as fake:
        entry = {
            "urlPrefix": fake.url,
            "bindVerb": "bind",
            "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
        }
        flags = ("--nodes", "1", "--config", configuration(tmp_path, entry))
        with Server(tmp_path, *flags) as server:
            held.append(server)
            make_pod(server, "plain")
            wait_for(server, "plain", "condition=PodScheduled")
            assert fake.asked == []
            make_pod(server, "gpu", resources={"limits": {"example.com/gpu": "1"}})
            wait_for(server, "gpu", "condition=PodScheduled")
            assert [args["PodName"] for _, args in fake.asked] == ["gpu"]


def test_extender_that_fails_is_an_error_of_the_scheduler(tmp_path: Path) -> None:
    with FakeExtender(filter=lambda _: 503) as fake:
        flags = ("--nodes", "1", "--config", configuration(tmp_path, {"urlPrefix": fake.url, "filterVerb": "filter"}))
        with Server(tmp_path, *flags) as server:
            make_pod(server, "p")
            wait_for(server, "p", "condition=PodScheduled=False")
            (scheduled,) = read(server, "p")["status"]["conditions"]
            assert scheduled["reason"] == "SchedulerError"
            assert scheduled["message"] == f"failed filter with extender at URL {fake.url}/filter, code 503"
