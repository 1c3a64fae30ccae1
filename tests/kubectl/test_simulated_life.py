"""What simulated containers do, seen by the real kubectl."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH"),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, "--nodes", "1") as running:
        yield running


def test_pod_that_sleeps_before_it_stops_is_terminating(server: Server) -> None:
    hook = '"lifecycle":{"preStop":{"sleep":{"seconds":25}}}'
    spec = f'{{"spec":{{"containers":[{{"name":"web","image":"i",{hook}}}]}}}}'
    server.kubectl("run", "web", "--image=i", f"--overrides={spec}")
    server.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=20s")
    server.kubectl("delete", "pod", "web", "--wait=false")
    assert server.kubectl("get", "pod", "web", "--no-headers").stdout.split()[1:3] == ["1/1", "Terminating"]
    assert "preStop hook: sleep 25s" in server.kubectl("logs", "web").stdout
    server.kubectl("delete", "pod", "web", "--grace-period=0", "--force")
    assert server.kubectl("wait", "--for=delete", "pod/web", "--timeout=20s").returncode == 0


def test_image_that_cannot_be_pulled(server: Server) -> None:
    server.kubectl("annotate", "nodes", "--all", "doorman.dev/failing-images=registry.example/*")
    server.kubectl("run", "web", "--image=registry.example/web:2")
    reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff"
    waited = server.kubectl("wait", f"--for={reason}", "pod/web", "--timeout=20s")
    assert waited.returncode == 0, waited.stderr
    assert server.kubectl("get", "pod", "web", "--no-headers").stdout.split()[1:3] == ["0/1", "ImagePullBackOff"]
    refused = server.kubectl("logs", "web")
    text = 'container "web" in pod "web" is waiting to start: trying and failing to pull image'
    assert refused.stderr == f"Error from server (BadRequest): {text}\n"


def test_logs(server: Server) -> None:
    server.kubectl("run", "once", "--image=i", "--restart=Never", "--annotations=doorman.dev/runs-for=3s")
    server.kubectl("wait", "--for=condition=Ready", "pod/once", "--timeout=20s")
    followed = server.kubectl("logs", "-f", "once")
    assert followed.stdout == "container once started, image i\nexited with code 0\n", followed.stderr
    assert server.kubectl("logs", "once", "--tail=1").stdout == "exited with code 0\n"
    stamped = server.kubectl("logs", "once", "--timestamps", "--tail=1").stdout
    assert stamped.partition(" ")[2] == "exited with code 0\n"
    other = server.kubectl("logs", "once", "-c", "nope")
    assert "container nope is not valid for pod once" in other.stderr
    before = server.kubectl("logs", "once", "--previous")
    text = 'previous terminated container "once" in pod "once" not found'
    assert before.stderr == f"Error from server (BadRequest): {text}\n"


def test_top_and_autoscale(server: Server) -> None:
    server.kubectl("create", "deployment", "web", "--image=i", "--replicas=2")
    server.kubectl("set", "resources", "deployment", "web", "--requests=cpu=200m,memory=128Mi")
    server.kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    server.kubectl("annotate", "deployment", "web", "doorman.dev/cpu-load=600m")
    pods = server.kubectl("top", "pods", "--no-headers", "-l", "app=web")
    assert [line.split()[1:] for line in pods.stdout.splitlines()] == [["300m", "64Mi"]] * 2, pods.stderr
    containers = server.kubectl("top", "pods", "--containers", "--no-headers", "--sort-by=cpu")
    assert [line.split()[1] for line in containers.stdout.splitlines()] == ["i", "i"], containers.stderr
    nodes = server.kubectl("top", "nodes", "--no-headers")
    assert nodes.stdout.split()[:3] == ["node-1", "600m", "15%"], nodes.stderr
    server.kubectl("autoscale", "deployment", "web", "--min=3", "--max=5", "--cpu-percent=50")
    waited = server.kubectl("wait", "--for=jsonpath={.spec.replicas}=3", "deployment/web", "--timeout=20s")
    assert waited.returncode == 0, waited.stderr
    described = server.kubectl("describe", "hpa", "web").stdout
    assert "New size: 3; reason: Current number of replicas below Spec.MinReplicas" in described


def test_load_balancer_has_an_address_and_goes(server: Server) -> None:
    server.kubectl("create", "service", "loadbalancer", "web", "--tcp=80:8080")
    address = "jsonpath={.status.loadBalancer.ingress[0].ip}"
    waited = server.kubectl("wait", f"--for={address}", "service/web", "--timeout=20s")
    assert waited.returncode == 0, waited.stderr
    assert server.kubectl("get", "service", "web", "--no-headers").stdout.split()[3].startswith("198.18.")
    gone = server.kubectl("delete", "service", "web", "--timeout=20s")
    assert (gone.returncode, gone.stdout) == (0, 'service "web" deleted\n'), gone.stderr


def test_run_with_input_ends_and_is_removed(server: Server) -> None:
    ran = server.kubectl("run", "-i", "--rm", "asked", "--image=busybox", "--restart=Never", "--", "sh")
    assert "no input: nobody can attach to a simulated container" in ran.stdout
    assert 'pod "asked" deleted' in ran.stdout
    assert ran.returncode == 0
    assert "not found" in server.kubectl("get", "pod", "asked").stderr
