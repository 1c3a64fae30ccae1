"""get, apply, delete, why and node against a real server: what they print and how they end."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.server import Server, fetch

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server"), "--nodes", "2") as running:
        yield running


def test_get_prints_the_servers_table(server: Server) -> None:
    done = server.doorman("get", "nodes")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert [line.split()[:2] for line in lines[1:]] == [["node-1", "Ready"], ["node-2", "Ready"]]


@pytest.mark.parametrize("typed", ["no", "node", "Nodes"])
def test_get_takes_every_name_of_a_resource(server: Server, typed: str) -> None:
    assert server.doorman("get", typed, "-o", "name").stdout == "node/node-1\nnode/node-2\n"


def test_get_of_an_unknown_resource_exits_1(server: Server) -> None:
    done = server.doorman("get", "widgets")
    assert (done.returncode, done.stderr) == (1, 'error: the server doesn\'t have a resource type "widgets"\n')


def test_get_of_a_resource_typed_wrongly_names_the_nearest(server: Server) -> None:
    done = server.doorman("get", "deploymnets")
    assert done.returncode == 1
    assert done.stderr.endswith('hint: did you mean "deployments"?\n')


def test_get_of_an_object_that_is_not_there_exits_1(server: Server) -> None:
    done = server.doorman("get", "nodes", "nope")
    assert (done.returncode, done.stderr) == (1, 'Error from server (NotFound): nodes "nope" not found\n')


def test_get_json_is_one_object_or_a_list(server: Server) -> None:
    assert json.loads(server.doorman("get", "node", "node-1", "-o", "json").stdout)["kind"] == "Node"
    listed = json.loads(server.doorman("get", "nodes", "-o", "json").stdout)
    assert (listed["kind"], len(listed["items"])) == ("List", 2)


def test_get_in_all_namespaces_has_a_namespace_column(server: Server) -> None:
    lines = server.doorman("get", "serviceaccounts", "-A").stdout.splitlines()
    assert lines[0].split()[:2] == ["NAMESPACE", "NAME"]
    assert ["kube-system", "default"] in [line.split()[:2] for line in lines]


def test_apply_says_created_unchanged_configured_and_delete_deletes(server: Server) -> None:
    manifest = (EXAMPLES / "pod-with-toleration.yaml").read_text()
    assert server.doorman("apply", "-f", "-", stdin=manifest).stdout == "pod/tolerant created\n"
    assert server.doorman("apply", "-f", "-", stdin=manifest).stdout == "pod/tolerant unchanged\n"
    changed = manifest.replace("app: demo", "app: other")
    assert server.doorman("apply", "-f", "-", stdin=changed).stdout == "pod/tolerant configured\n"
    done = server.doorman("delete", "pod", "tolerant", "--now")
    assert done.stdout == 'pod "tolerant" deleted from default namespace\n'


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        pytest.param("a: [", "error parsing standard input", id="malformed-yaml"),
        pytest.param("a: 1", "without kind and apiVersion", id="no-manifest"),
        pytest.param(
            "apiVersion: v1\nkind: Widget\nmetadata: {name: w}", 'no matches for kind "Widget"', id="unknown-kind"
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nope: 1}", "field not declared in schema",
            id="unknown-field",
        ),
    ],
)  # fmt: skip
def test_apply_of_something_wrong_exits_1_and_says_why(server: Server, manifest: str, complaint: str) -> None:
    done = server.doorman("apply", "-f", "-", stdin=manifest)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_conflict_names_the_object_and_the_field(server: Server) -> None:
    made = server.kubectl("create", "configmap", "contested", "--from-literal=a=1")
    assert made.returncode == 0, made.stderr
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: contested}\ndata: {a: '2'}\n"
    refused = server.doorman("apply", "-f", "-", stdin=manifest)
    assert refused.returncode == 1
    assert 'conflict with "kubectl-create"' in refused.stderr
    assert "when applying configmap/contested" in refused.stderr
    assert server.doorman("apply", "-f", "-", "--force-conflicts", stdin=manifest).returncode == 0


def test_why_names_the_taint_and_the_missing_toleration(server: Server) -> None:
    server.doorman("taint", "nodes", "--all", "gpu=yes:NoSchedule")
    body = {"metadata": {"name": "plain"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert fetch(server, "POST", "/api/v1/namespaces/default/pods", body=json.dumps(body).encode())[0] == 201
    done = server.doorman("why", "plain")
    assert "TaintToleration: node(s) had untolerated taint(s): gpu=yes:NoSchedule" in done.stdout
    assert "- key: gpu" in done.stdout
    server.doorman("taint", "nodes", "--all", "gpu-")
    assert server.doorman("why", "nobody").returncode == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        pytest.param(["--cpu", "lots"], 'capacity.cpu: "lots" is no quantity', id="cpu"),
        pytest.param(["--memory", "-5"], 'capacity.memory: "-5" is negative', id="memory"),
        pytest.param(["--zone", "a b"], 'labels: Invalid value: "a b"', id="zone"),
        pytest.param(["--label", "disk"], "--label disk: want KEY=VALUE", id="label"),
        pytest.param(["--taint", "gpu"], "--taint gpu: want KEY[=VALUE]:EFFECT", id="taint-without-effect"),
        pytest.param(["--taint", "gpu:Never"], "invalid taint effect: Never", id="taint-effect"),
        pytest.param(["--pod-termination", "soon"], 'podTermination: time: invalid duration "soon"', id="termination"),
        pytest.param(["--startup-delay", "5"], 'startupDelay: time: missing unit in duration "5"', id="start-up"),
        pytest.param(["--script", "silent"], 'script: "silent": want', id="script"),
    ],
)
def test_node_that_makes_no_sense_is_not_added(server: Server, options: list[str], complaint: str) -> None:
    done = server.doorman("node", "add", "odd", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert server.doorman("get", "node", "odd").returncode == 1


def test_node_that_is_not_simulated_obeys_nobody(server: Server, tmp_path: Path) -> None:
    manifest = tmp_path / "node.yaml"
    manifest.write_text("{apiVersion: v1, kind: Node, metadata: {name: plain}}")
    server.doorman("apply", "-f", str(manifest))
    for order in (["fail"], ["fail", "--not-ready"], ["recover"], ["pressure"], ["shutdown"]):
        done = server.doorman("node", *order, "plain")
        assert (done.returncode, done.stdout) == (1, "")
        assert (
            done.stderr == 'error: node "plain" is not simulated: it has no annotation doorman.dev/simulated: "true"\n'
        )
    server.doorman("node", "remove", "plain")


def test_node_goes_on_by_its_script_when_it_recovers(server: Server) -> None:
    options = ["--label", "disk=ssd", "--taint", "gpu=yes:NoSchedule", "--script", "Ready=False 0s-1s"]
    assert server.doorman("node", "add", "scripted", *options).stdout == "node/scripted added\n"
    node = json.loads(server.doorman("get", "node", "scripted", "-o", "json").stdout)
    assert node["metadata"]["labels"]["disk"] == "ssd"
    assert "gpu" in [taint["key"] for taint in node["spec"]["taints"]]
    done = server.doorman("node", "recover", "scripted")
    assert (done.stdout, done.stderr) == (
        "node/scripted recovered\n",
        "note: its script goes on: Ready=False 0s-1s\n",
    )
    server.doorman("node", "remove", "scripted")


def test_node_orders_are_annotations(server: Server) -> None:
    assert server.doorman("node", "add", "extra", "--zone", "z1").stdout == "node/extra added\n"
    assert server.doorman("node", "fail", "extra").stdout == "node/extra failed\n"
    node = json.loads(server.doorman("get", "node", "extra", "-o", "json").stdout)
    assert node["metadata"]["annotations"]["doorman.dev/silent"] == "true"
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "z1"
    assert server.doorman("node", "recover", "extra").stdout == "node/extra recovered\n"
    assert server.doorman("node", "shutdown", "extra", "--grace", "2s", "--critical", "0s").stdout == (
        "node/extra shutting down\n"
    )
    refused = server.doorman("node", "shutdown", "extra", "--grace", "1s", "--critical", "2s")
    assert refused.returncode == 2
    assert "part of the whole time" in refused.stderr
    assert server.doorman("node", "remove", "extra").stdout == "node/extra removed\n"
    assert server.doorman("node", "remove", "extra").returncode == 1


def test_zones_are_listed(server: Server) -> None:
    assert server.doorman("get", "zones").stdout.splitlines()[0].split()[:2] == ["NAME", "STATE"]


def test_without_a_server_the_hint_says_how_to_start_one(tmp_path: Path, server: Server) -> None:
    dead = tmp_path / "kubeconfig"
    dead.write_text(server.kubeconfig.read_text().replace(server.address, "https://127.0.0.1:1"))
    done = server.doorman("get", "nodes", "--kubeconfig", str(dead))
    assert done.returncode == 1
    assert "was refused - did you specify the right host or port?" in done.stderr
    assert "doorman up" in done.stderr


def test_kubeconfig_that_is_not_there_exits_1(server: Server, tmp_path: Path) -> None:
    done = server.doorman("get", "nodes", "--kubeconfig", str(tmp_path / "nope"))
    assert done.returncode == 1
    assert "hint:" in done.stderr


class Kubernetes:
    """Another API server: it answers 404 to everything, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                cluster.asked.append((self.command, self.path))
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_PATCH(self) -> None:
                self.do_GET()

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def kubeconfig(self) -> str:
        config = {
            "clusters": [{"name": "prod", "cluster": {"server": self.url}}],
            "users": [{"name": "me", "user": {"token": "t"}}],
            "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "me"}}],
            "current-context": "prod",
        }
        return json.dumps(config)

    def __enter__(self) -> "Kubernetes":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def run_doorman(*arguments: str, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "doorman", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, env={**os.environ, **environment})


def test_cluster_that_is_no_doorman_is_left_alone(tmp_path: Path) -> None:
    """Whoever has another cluster as his current context does not taint it by mistake."""
    with Kubernetes() as other:
        home = tmp_path / "home"
        config = home / ".kube" / "config"
        config.parent.mkdir(parents=True)
        config.write_text(other.kubeconfig())
        environment = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "KUBECONFIG": ""}
        done = run_doorman("taint", "nodes", "--all", "k=v:NoExecute", environment=environment)
        assert done.returncode == 1
        assert f"error: {other.url}, the current context of {config}, is not a Doorman; nothing was done" in done.stderr
        assert other.asked == [("GET", "/apis/doorman.dev")]
        run_doorman("get", "nodes", "--kubeconfig", str(config), environment=environment)
        assert other.asked[1:] != []  # it was named, and so it is asked
