"""A cluster for tests and an admission webhook of the test's own: the clock waits for its answer, in real time."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from doorman.base.clock import SystemClock
from doorman.runtime.access.credentials import load_or_make
from doorman.testing import Cluster


class Webhook:
    def __init__(self, folder: Path) -> None:
        made = load_or_make(None, "127.0.0.1", datetime.fromtimestamp(SystemClock().now(), UTC))
        (folder / "tls.pem").write_bytes(made.server_certificate + made.server_key)
        self.authority = base64.b64encode(made.ca_certificate).decode()
        self.asked = threading.Event()
        self.may_answer = threading.Event()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                hook.asked.set()
                hook.may_answer.wait()
                response = {"uid": review["request"]["uid"], "allowed": True}
                body = json.dumps(
                    {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
                )
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def configuration(self) -> dict[str, object]:
        webhook = {
            "name": "pods.example.com",
            "clientConfig": {"url": f"https://127.0.0.1:{self.server.server_port}/", "caBundle": self.authority},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        version, kind = "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"
        return {"apiVersion": version, "kind": kind, "metadata": {"name": "pods"}, "webhooks": [webhook]}


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    hook = Webhook(tmp_path)
    yield hook
    hook.may_answer.set()
    hook.server.shutdown()
    hook.thread.join()
    hook.server.server_close()


def test_instant_is_not_over_before_a_webhook_has_answered(webhook: Webhook) -> None:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    with Cluster(nodes=1) as cluster:
        cluster.apply(webhook.configuration())
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}
        applied: list[int] = []
        waiting = threading.Thread(target=lambda: applied.append(len(cluster.apply(deployment))))
        waiting.start()
        assert webhook.asked.wait(30)
        assert applied == [], "its pods are not there yet"
        assert cluster.get("deployment", "x")["spec"]["replicas"] == 2, "others are answered meanwhile"
        webhook.may_answer.set()
        waiting.join(30)
        assert applied == [1]
        assert [pod["status"]["phase"] for pod in cluster.pods()] == ["Running", "Running"]
        assert cluster.elapsed == 0
