"""The "dedicated nodes" controller of Kubernetes' documentation as a mutating webhook, in one file.

    python webhook.py --group team=ml --namespace lab --write-configuration webhook.yaml
    kubectl apply -f webhook.yaml
    kubectl label node node-1 team=ml && kubectl taint node node-1 team=ml:NoSchedule

Pods of the namespace get a toleration of the taint and a required node affinity to the label. It works with any
Kubernetes API server that reaches this machine. What it cannot do, and DedicatedNodes does: taint nodes as their labels
change, and keep others out that write the toleration themselves.
"""

import argparse
import base64
import datetime
import ipaddress
import json
import pathlib
import ssl
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
REVIEW_BYTES_MAX = 4 * 1024 * 1024


def patch_for(pod: dict[str, Any], key: str, value: str) -> list[dict[str, Any]]:
    """JSON patch operations that send the pod to the nodes of a group."""
    spec = pod["spec"]
    toleration = {"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}
    tolerations = spec.get("tolerations", [])
    affinity = spec.get("affinity", {})
    node = affinity.get("nodeAffinity", {})
    wanted = {"key": key, "operator": "In", "values": [value]}
    terms = [
        {**term, "matchExpressions": [*(e for e in term.get("matchExpressions", []) if e != wanted), wanted]}
        for term in node.get(REQUIRED, {}).get("nodeSelectorTerms", [{}])
    ]
    affinity = {**affinity, "nodeAffinity": {**node, REQUIRED: {"nodeSelectorTerms": terms}}}
    if toleration not in tolerations:
        tolerations = [*tolerations, toleration]
    return [
        {"op": "add", "path": "/spec/tolerations", "value": tolerations},
        {"op": "add", "path": "/spec/affinity", "value": affinity},
    ]


def answer(review: dict[str, Any], key: str, value: str) -> dict[str, Any]:
    request = review["request"]
    patch = base64.b64encode(json.dumps(patch_for(request["object"], key, value)).encode()).decode()
    response = {"uid": request["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def configuration(url: str, ca: bytes, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "dedicated-nodes"},
        "webhooks": [
            {
                "name": "dedicated-nodes.example.com",
                "clientConfig": {"url": url, "caBundle": base64.b64encode(ca).decode()},
                "rules": [
                    {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]},
                ],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "reinvocationPolicy": "IfNeeded",
                "timeoutSeconds": 5,
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


def certificate(host: str) -> tuple[bytes, bytes]:
    """A certificate that is its own authority, good for a week, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "dedicated-nodes webhook")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=7))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM), private


def server(host: str, port: int, key: str, value: str) -> tuple[ThreadingHTTPServer, bytes]:
    """Listening, not yet serving; and the certificate to trust."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            if not 0 < length <= REVIEW_BYTES_MAX:
                self.send_error(413)
                return
            body = json.dumps(answer(json.loads(self.rfile.read(length)), key, value)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    public, private = certificate(host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch, "pem")
        file.touch(mode=0o600)
        file.write_bytes(public + private)
        context.load_cert_chain(file)
    found = ThreadingHTTPServer((host, port), Handler)
    found.socket = context.wrap_socket(found.socket, server_side=True)
    return found, public


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", default="team=ml", help="the label and the taint of the nodes, KEY=VALUE")
    parser.add_argument("--namespace", default="lab", help="whose pods go there")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--write-configuration", type=pathlib.Path, default=pathlib.Path("webhook.yaml"))
    options = parser.parse_args()
    key, _, value = options.group.partition("=")
    listening, ca = server(options.address, options.port, key, value)
    url = f"https://{options.address}:{listening.server_address[1]}/"
    options.write_configuration.write_text(yaml.safe_dump(configuration(url, ca, options.namespace)))
    print(f"serving {url}; now: kubectl apply -f {options.write_configuration}", flush=True)
    listening.serve_forever()


if __name__ == "__main__":
    main()
