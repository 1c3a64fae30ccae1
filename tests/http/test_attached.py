"""Components as processes of their own, against a Doorman that runs none."""

import json
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.attached import Attached
from support.etcd import free_ports
from support.server import Server, authority_of, fetch

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
QUICK = ("--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, "--components=false") as running:
        yield running


def asked(server: Server, method: str, path: str, body: Any = None, expected: int | None = None) -> Any:
    status, _, content = fetch(server, method, path, body=None if body is None else json.dumps(body).encode())
    assert expected is None or status == expected, content
    return json.loads(content)


def watched(server: Server, path: str, is_enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first object of a collection that is as wanted, now or when a watch tells of it."""
    config = yaml.safe_load(server.kubeconfig.read_text())
    context = ssl.create_default_context(cadata=authority_of(config))
    headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
    request = urllib.request.Request(f"{server.address}{path}?watch=1&timeoutSeconds=60", headers=headers)
    with urllib.request.urlopen(request, context=context, timeout=60) as stream:
        for line in stream:
            event = json.loads(line)
            if is_enough(event["object"]):
                found: dict[str, Any] = event["object"]
                return found
    raise AssertionError(f"{path}: not within a minute")


def add_node(server: Server, name: str) -> None:
    ready = {"type": "Ready", "status": "True"}
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "conditions": [ready]}
    node = {"metadata": {"name": name}, "spec": {}, "status": {**status, "capacity": status["allocatable"]}}
    made = asked(server, "POST", NODES, node, expected=201)
    made["spec"].pop("taints", None)  # nobody looks after nodes here, and who comes is not ready
    asked(server, "PUT", f"{NODES}/{name}", made, expected=200)


def add_pod(server: Server, name: str) -> None:
    account = {"metadata": {"name": "default", "namespace": "default"}}
    asked(server, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
    pod = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    asked(server, "POST", PODS, pod, expected=201)


def is_placed(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda pod: pod["metadata"]["name"] == name and bool(pod["spec"].get("nodeName"))


def test_server_alone_runs_no_component(server: Server) -> None:
    assert asked(server, "GET", NODES)["items"] == []
    assert asked(server, "GET", "/apis/coordination.k8s.io/v1/leases")["items"] == []
    assert fetch(server, "GET", "/readyz")[0] == 200


def test_server_alone_takes_no_nodes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "doorman", "up", "--in-memory", "--components=false", "--nodes", "2"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "give --nodes to `doorman nodes`" in ended.stderr


def test_whole_cluster_of_processes(server: Server) -> None:
    deployment = {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "x"}]},
            },
        },
    }
    path = "/apis/apps/v1/namespaces/default/deployments"
    kubeconfig = server.kubeconfig
    with Attached("controllers", kubeconfig), Attached("scheduler", kubeconfig), Attached("nodes", kubeconfig):
        asked(server, "POST", path, deployment, expected=201)
        whole = watched(server, path, lambda found: found.get("status", {}).get("readyReplicas") == 4)
        assert whole["status"]["replicas"] == 4
        pods = asked(server, "GET", PODS)["items"]
        assert len(pods) == 4, "nobody created one twice"
        taint = {"spec": {"taints": [{"key": "out", "effect": "NoExecute"}]}}
        victim = pods[0]["spec"]["nodeName"]
        headers = {"Content-Type": "application/merge-patch+json"}
        assert fetch(server, "PATCH", f"{NODES}/{victim}", body=json.dumps(taint).encode(), headers=headers)[0] == 200
        names = {pod["metadata"]["name"] for pod in pods}

        def is_successor(pod: dict[str, Any]) -> bool:
            ready = [one for one in pod["status"].get("conditions", ()) if one["type"] == "Ready"]
            is_new = pod["metadata"]["name"] not in names
            return is_new and pod["spec"].get("nodeName") != victim and ready[:1] != [] and ready[0]["status"] == "True"

        watched(server, PODS, is_successor)


def test_default_roles_are_enough_for_controllers(server: Server, tmp_path: Path) -> None:
    """Each acts as its own account. What they do ends in objects that only they write."""
    authority = tmp_path / "ca.crt"
    authority.write_text(authority_of(yaml.safe_load(server.kubeconfig.read_text())))
    flags = ("--use-service-account-credentials", "--root-ca-file", str(authority))
    with Attached("controllers", server.kubeconfig, *flags) as controllers, Attached("nodes", server.kubeconfig):
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "9", "requests.cpu": "2", "configmaps": "5"}}}
        asked(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "own"}}, expected=201)
        asked(server, "POST", "/api/v1/namespaces/own/resourcequotas", quota, expected=201)
        maps = "/api/v1/namespaces/own/configmaps"
        published = watched(server, maps, lambda found: found["metadata"]["name"] == "kube-root-ca.crt")
        assert published["data"]["ca.crt"] == authority.read_text()
        watched(
            server,
            "/api/v1/namespaces/own/resourcequotas",
            lambda found: found.get("status", {}).get("used") == {"pods": "0", "requests.cpu": "0", "configmaps": "1"},
        )
        published["data"] = {"ca.crt": "somebody else's"}
        asked(server, "PUT", f"{maps}/kube-root-ca.crt", published, expected=200)
        watched(server, maps, lambda found: found["data"]["ca.crt"] == authority.read_text())
        template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        sets = "/apis/apps/v1/namespaces/own/daemonsets"
        spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
        asked(server, "POST", sets, {"metadata": {"name": "d"}, "spec": spec}, expected=201)
        watched(server, sets, lambda found: found.get("status", {}).get("desiredNumberScheduled") == 3)
        assert fetch(server, "DELETE", "/api/v1/namespaces/own")[0] == 200
        watched(server, "/api/v1/namespaces", lambda found: is_gone(server, "/api/v1/namespaces/own"))
        assert controllers.stop() == 0
        assert controllers.process.stderr is not None
        assert "a right is missing" not in controllers.process.stderr.read()


def is_gone(server: Server, path: str) -> bool:
    return fetch(server, "GET", path)[0] == 404


def test_scheduler_follows_a_server_that_was_away(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    place = ["--data-dir", str(tmp_path / "data"), "--secure-port", str(port)]
    with Server(tmp_path, "--components=false", place=place) as before:
        add_node(before, "one")
        with Attached("scheduler", before.kubeconfig, "--leader-elect=false"):
            add_pod(before, "first")
            watched(before, PODS, is_placed("first"))
            before.stop()
            with Server(tmp_path, "--components=false", place=place) as after:
                add_pod(after, "second")
                assert watched(after, PODS, is_placed("second"))["spec"]["nodeName"] == "one"


def test_of_two_schedulers_one_acts_and_the_other_follows_it(server: Server) -> None:
    add_node(server, "one")
    with Attached("scheduler", server.kubeconfig) as first:
        leads = watched(server, LEASE.rpartition("/")[0], lambda lease: bool(lease["spec"]["holderIdentity"]))
        with Attached("scheduler", server.kubeconfig):
            add_pod(server, "a")
            watched(server, PODS, is_placed("a"))
            assert asked(server, "GET", LEASE)["spec"]["holderIdentity"] == leads["spec"]["holderIdentity"]
            assert first.stop() == 0, "who is asked to go gives the lease back"
            add_pod(server, "b")
            watched(server, PODS, is_placed("b"))
            now = asked(server, "GET", LEASE)["spec"]
            assert now["holderIdentity"] != leads["spec"]["holderIdentity"]
            assert now["leaseTransitions"] == 1


def make_namespace(server: Server, name: str) -> None:
    """Something for the service account controller to do."""
    asked(server, "POST", "/api/v1/namespaces", {"metadata": {"name": name}}, expected=201)


def is_served(server: Server, name: str) -> None:
    """Until that controller has acted."""
    path = f"/api/v1/namespaces/{name}/serviceaccounts"
    watched(server, path, lambda account: account["metadata"]["name"] == "default")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("component", ["scheduler", "controllers"])
def test_another_acts_when_the_leader_is_gone(server: Server, component: str, how: signal.Signals) -> None:
    add_node(server, "one")
    name = "kube-scheduler" if component == "scheduler" else "kube-controller-manager"
    leases = LEASE.rpartition("/")[0]
    with Attached(component, server.kubeconfig, *QUICK) as first:
        watched(server, leases, lambda found: found["metadata"]["name"] == name)
        held = asked(server, "GET", f"{leases}/{name}")["spec"]["holderIdentity"]
        with Attached(component, server.kubeconfig, *QUICK):
            first.send(how)
            first.process.wait(20)
            if component == "scheduler":
                add_pod(server, "a")
                watched(server, PODS, is_placed("a"))
            else:
                make_namespace(server, "own")
                is_served(server, "own")
            assert asked(server, "GET", f"{leases}/{name}")["spec"]["holderIdentity"] not in ("", held)


def test_controllers_that_slept_write_nothing_and_end(server: Server) -> None:
    leases = LEASE.rpartition("/")[0]
    with Attached("controllers", server.kubeconfig, *QUICK) as sleeper:
        watched(server, leases, lambda lease: bool(lease["spec"]["holderIdentity"]))
        held = asked(server, "GET", f"{leases}/kube-controller-manager")["spec"]["holderIdentity"]
        make_namespace(server, "before")
        is_served(server, "before")
        sleeper.send(signal.SIGSTOP)
        with Attached("controllers", server.kubeconfig, *QUICK) as other:
            watched(server, leases, lambda lease: lease["spec"]["holderIdentity"] not in ("", held))
            other.send(signal.SIGSTOP)
            make_namespace(server, "meanwhile")
            sleeper.send(signal.SIGCONT)
            assert sleeper.process.wait(30) == 1
            path = "/api/v1/namespaces/meanwhile/serviceaccounts"
            assert asked(server, "GET", path)["items"] == [], "it was not the one to make it"
            other.send(signal.SIGCONT)
            is_served(server, "meanwhile")


def test_leader_that_slept_writes_nothing_and_ends(server: Server) -> None:
    add_node(server, "one")
    with Attached("scheduler", server.kubeconfig, *QUICK) as sleeper:
        watched(server, LEASE.rpartition("/")[0], lambda lease: bool(lease["spec"]["holderIdentity"]))
        held = asked(server, "GET", LEASE)["spec"]["holderIdentity"]
        sleeper.send(signal.SIGSTOP)
        with Attached("scheduler", server.kubeconfig, *QUICK) as other:
            leases = LEASE.rpartition("/")[0]
            watched(server, leases, lambda lease: lease["spec"]["holderIdentity"] not in ("", held))
            other.send(signal.SIGSTOP)
            add_pod(server, "a")
            sleeper.send(signal.SIGCONT)
            assert sleeper.process.wait(30) == 1
            assert not asked(server, "GET", f"{PODS}/a")["spec"].get("nodeName"), "it was not the one to place it"
            other.send(signal.SIGCONT)


def test_health_is_for_everybody_and_metrics_are_not(server: Server) -> None:
    [port] = free_ports(1)
    flags = (
        "--authentication-kubeconfig",
        str(server.kubeconfig),
        "--authorization-kubeconfig",
        str(server.kubeconfig),
    )
    with Attached("scheduler", server.kubeconfig, *flags, port=port) as scheduler:
        assert f"serving=127.0.0.1:{port}" in scheduler.ready_line
        assert seen(port, "/healthz") == (200, "ok")
        assert "[+]sched-handler-sync ok" in seen(port, "/readyz?verbose")[1]
        assert seen(port, "/readyz/shutdown")[0] == 200
        assert seen(port, "/readyz/nonsense")[0] == 404
        assert seen(port, "/metrics") == (403, 'forbidden: User "system:anonymous" cannot get path "/metrics"\n')
        assert seen(port, "/metrics", "wrong")[0] == 401
        token = yaml.safe_load(server.kubeconfig.read_text())["users"][0]["user"]["token"]
        code, text = seen(port, "/metrics", token)
        assert code == 200
        assert "rest_client_requests_total{" in text
        assert 'leader_election_master_status{name="kube-scheduler"}' in text


def seen(port: int, path: str, token: str = "") -> tuple[int, str]:
    context = ssl._create_unverified_context()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"https://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_server_that_is_not_there_is_told_of(server: Server) -> None:
    server.stop()
    flags = ("--kubeconfig", str(server.kubeconfig), "--secure-port", "0")
    command = [sys.executable, "-m", "doorman", "scheduler", *flags]
    waiting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert waiting.stderr is not None
        line = waiting.stderr.readline()
        assert f"{server.address} has not told of" in line
        assert "Connection refused" in line
    finally:
        waiting.send_signal(signal.SIGTERM)
        assert waiting.wait(20) == 0
        waiting.communicate()


@pytest.mark.parametrize("component", ["scheduler", "controllers"])
def test_flags_of_upstream_are_known_and_others_are_not(component: str, tmp_path: Path) -> None:
    def ended(*flags: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "doorman", component, "--kubeconfig", str(tmp_path / "none"), *flags]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    unknown = ended("--frobnicate=1")
    assert (unknown.returncode, "unknown flag: --frobnicate=1" in unknown.stderr) == (2, True)
    known = ended("--profiling=false", "--logging-format", "json")
    assert "warning: --profiling, --logging-format: accepted and without meaning here" in known.stderr
    assert known.returncode == 1
    assert "no such file or directory" in known.stderr, "there is no such kubeconfig"
    times = ended("--leader-elect-renew-deadline=20s")
    assert (times.returncode, "longer than the renew deadline" in times.stderr) == (2, True)


def add_mounting_pod(server: Server, name: str, volume: dict[str, Any]) -> None:
    account = {"metadata": {"name": "default", "namespace": "default"}}
    asked(server, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
    container = {"name": "c", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    spec = {"nodeName": "node-1", "containers": [container], "volumes": [{"name": "v", **volume}]}
    spec["tolerations"] = [{"operator": "Exists"}]
    asked(server, "POST", PODS, {"metadata": {"name": name}, "spec": spec}, expected=201)


def is_running(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda pod: pod["metadata"]["name"] == name and pod["status"].get("phase") == "Running"


def test_pods_of_attached_nodes_wait_for_their_volumes(server: Server) -> None:
    events = "/api/v1/namespaces/default/events"
    claim = {"persistentVolumeClaim": {"claimName": "missing"}}
    with Attached("nodes", server.kubeconfig, "--nodes", "1"):
        watched(server, NODES, lambda node: node["metadata"]["name"] == "node-1")
        add_mounting_pod(server, "a", {"configMap": {"name": "missing"}})
        add_mounting_pod(server, "b", {"secret": {"secretName": "missing"}})
        add_mounting_pod(server, "c", claim)
        for name, words in (("a", 'configmap "missing" not found'), ("b", 'secret "missing" not found'), ("c", "PVC")):

            def is_told(event: dict[str, Any], name: str = name, words: str = words) -> bool:
                about = event["involvedObject"]["name"] == name and event["reason"] == "FailedMount"
                return about and words in event["message"]

            watched(server, events, is_told)
            pod = asked(server, "GET", f"{PODS}/{name}")
            (status,) = pod["status"]["containerStatuses"]
            assert (pod["status"]["phase"], status["state"]) == (
                "Pending",
                {"waiting": {"reason": "ContainerCreating"}},
            )
        asked(server, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "missing"}}, expected=201)
        watched(server, PODS, is_running("a"))


def test_pods_do_not_wait_for_what_nodes_may_not_read(server: Server, tmp_path: Path) -> None:
    """A user who may do everything nodes do, but read what pods mount."""
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "nodes/status", "pods", "pods/status", "events"], "verbs": ["*"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
    ]
    role = {"metadata": {"name": "own"}, "rules": rules}
    access = "/apis/rbac.authorization.k8s.io/v1"
    asked(server, "POST", f"{access}/clusterroles", role, expected=201)
    subject = {"kind": "ServiceAccount", "name": "own", "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "own"}
    binding = {"metadata": {"name": "own"}, "roleRef": reference, "subjects": [subject]}
    asked(server, "POST", f"{access}/clusterrolebindings", binding, expected=201)
    kubeconfig = config_of_account(server, tmp_path / "own.conf", "own")
    with Attached("nodes", kubeconfig, "--nodes", "1", "--node-identity", "self") as nodes:
        watched(server, NODES, lambda node: node["metadata"]["name"] == "node-1")
        add_mounting_pod(server, "a", {"configMap": {"name": "missing"}})
        watched(server, PODS, is_running("a"))
        assert nodes.stop() == 0
        assert nodes.process.stderr is not None
        assert "pods do not wait for configmaps, secrets" in nodes.process.stderr.read()


def config_of_account(server: Server, file: Path, name: str) -> Path:
    """A kubeconfig of a service account in `default`."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    asked(server, "POST", accounts, {"metadata": {"name": name}}, expected=201)
    token = asked(server, "POST", f"{accounts}/{name}/token", {"spec": {}}, expected=201)["status"]["token"]
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    file.write_text(yaml.safe_dump(config))
    return file


def check_access(component: str, kubeconfig: Path, *flags: str) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "doorman", component, "--kubeconfig", str(kubeconfig), "--check-access", *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.stderr == "", ended.stderr
    return ended.returncode, ended.stdout.splitlines()


@pytest.mark.parametrize(
    ("component", "flags"),
    [("scheduler", ()), ("nodes", ()), ("controllers", ()), ("controllers", ("--use-service-account-credentials",))],
)
def test_nothing_is_missing_for_who_may_do_everything(server: Server, component: str, flags: tuple[str, ...]) -> None:
    """Of accounts of their own, which have the roles that every cluster has, neither."""
    assert check_access(component, server.kubeconfig, *flags) == (0, [f"{component}: all rights are there"])
    assert asked(server, "GET", NODES)["items"] == [], "nothing was started"


def test_missing_rights_are_named_before_anything_starts(server: Server, tmp_path: Path) -> None:
    kubeconfig = config_of_account(server, tmp_path / "own.conf", "own")
    code, lines = check_access("scheduler", kubeconfig)
    assert code == 1
    assert 'missing scheduler: verbs ["delete","get","list","watch"] on pods' in lines
    assert 'missing scheduler: verbs ["create"] on pods/binding' in lines
    assert (
        'missing scheduler: verbs ["get","update"] on leases.coordination.k8s.io "kube-scheduler" in kube-system'
        in lines
    )
    code, lines = check_access("nodes", kubeconfig)
    assert 'missing nodes: verbs ["impersonate"] on users' in lines
    code, lines = check_access("controllers", kubeconfig, "--controllers", "daemonset-controller")
    assert 'missing controllers: verbs ["update"] on daemonsets/status.apps' in lines
    code, lines = check_access("controllers", kubeconfig, "--use-service-account-credentials")
    assert any(line.startswith("missing daemon-set-controller: cannot be asked for: ") for line in lines)


def test_configuration_is_told_to_who_may_see_it(server: Server) -> None:
    [port] = free_ports(1)
    flags = ("--authorization-kubeconfig", str(server.kubeconfig), *QUICK)
    token = yaml.safe_load(server.kubeconfig.read_text())["users"][0]["user"]["token"]
    for component, group in (
        ("scheduler", "kubescheduler.config.k8s.io"),
        ("controllers", "kubecontrollermanager.config.k8s.io"),
        ("nodes", "doorman.dev"),
    ):
        with Attached(component, server.kubeconfig, *flags, port=port):
            assert seen(port, "/configz")[0] == 403
            code, text = seen(port, "/configz", token)
            assert code == 200
            election = json.loads(text)[group]["leaderElection"]
            assert (election["leaderElect"], election["leaseDuration"]) == (True, "4s")
