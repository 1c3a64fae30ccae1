"""Whatever arrives, the server answers, never with a fault of its own, and a refusal changes nothing.

A bounded number of requests against a real process: broken bodies, wrong types, strange paths, queries and headers,
around requests that would be good.
"""

import http.client
import json
import os
import ssl
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.server import Server, authority_of

EXAMPLES = int(os.environ.get("DOORMAN_FUZZ_EXAMPLES", "500"))
QUIET = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

KINDS = (
    ("/api/v1/namespaces/default/pods", "v1", "Pod"),
    ("/api/v1/nodes", "v1", "Node"),
    ("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap"),
    ("/api/v1/namespaces/default/services", "v1", "Service"),
    ("/apis/apps/v1/namespaces/default/deployments", "apps/v1", "Deployment"),
    ("/apis/batch/v1/namespaces/default/jobs", "batch/v1", "Job"),
    ("/apis/coordination.k8s.io/v1/namespaces/default/leases", "coordination.k8s.io/v1", "Lease"),
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("/apis/resource.k8s.io/v1/resourceslices", "resource.k8s.io/v1", "ResourceSlice"),
)
FIELDS = (
    "metadata", "name", "spec", "status", "labels", "containers", "tolerations", "taints", "key", "effect", "operator",
    "template", "selector", "matchLabels", "ports", "data", "versions", "names", "group", "schema", "openAPIV3Schema",
    "properties", "items", "type", "resources", "requests", "cpu", "finalizers", "ownerReferences", "$patch",
    "managedFields", "annotations", "nodeName", "affinity", "replicas", "x-kubernetes-validations",
    "additionalProperties",
)  # fmt: skip
PATCHES = ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml", "json", "nothing")

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12), st.sampled_from(("NoExecute", "Exists", "object", "array", "1Gi", "10%", "v1", "")),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=6), inner, max_size=5)
    ),
    max_leaves=25,
)
objects = st.dictionaries(st.sampled_from(FIELDS), values, max_size=6)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10)
queries = st.dictionaries(
    st.sampled_from(
        (
            "limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector",
            "fieldValidation", "dryRun", "force", "fieldManager", "pretty", "timeoutSeconds", "gracePeriodSeconds",
            "sendInitialEvents", "includeObject",
        )
    ),
    st.text(max_size=8) | st.sampled_from(("true", "0", "All", "Strict", "Exact", "a=b", "metadata.name=x")),
    max_size=3,
)  # fmt: skip


class Line:
    """One connection to one server, opened anew when the server closes it."""

    def __init__(self, server: Server) -> None:
        config = yaml.safe_load(server.kubeconfig.read_text())
        self.server = server
        self._token = config["users"][0]["user"]["token"]
        address = urllib.parse.urlsplit(server.address)
        context = ssl.create_default_context(cadata=authority_of(config))
        self._connection = http.client.HTTPSConnection(str(address.hostname), address.port, context=context, timeout=20)

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        sent = {"Authorization": f"Bearer {self._token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
        try:
            self._connection.request(method, path, body=body or None, headers=sent)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except http.client.RemoteDisconnected:
            self._connection.close()
            raise

    def revision(self) -> int:
        return int(json.loads(self.ask("GET", "/api/v1/namespaces?limit=1")[1])["metadata"]["resourceVersion"])

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    # Controllers write of their own accord; without them only a request can change anything.
    with Server(tmp_path_factory.mktemp("fuzz"), "--nodes", "0", "--controllers", "") as server:
        opened = Line(server)
        yield opened
        opened.close()
        assert server.process.poll() is None, "the server is still there"


def check(line: Line, method: str, path: str, body: bytes, **headers: str) -> None:
    before = line.revision()
    status, answer = line.ask(method, path, body, **headers)
    # 500 and 504 are upstream's own answers to an apply that does not fit its schema and to a future revision.
    said = status in (500, 504) and b"the server could not handle the request" not in answer
    assert status < 500 or said, (status, answer)
    if status >= 400:
        assert line.revision() == before, (status, answer)


def _quoted(query: dict[str, str]) -> str:
    return urllib.parse.urlencode(query, errors="replace")


@QUIET
@given(kind=st.sampled_from(KINDS), body=objects, query=queries)
def test_create_with_a_body_of_any_shape(line: Line, kind: tuple[str, str, str], body: Any, query: Any) -> None:
    path, api_version, name = kind
    sent = json.dumps({"apiVersion": api_version, "kind": name, **body}).encode()
    check(line, "POST", f"{path}?{_quoted(query)}", sent, Content_Type="application/json")


@QUIET
@given(
    path=st.sampled_from(KINDS),
    body=st.binary(max_size=200),
    media=st.sampled_from(("json", "yaml", "vnd.kubernetes.protobuf", "x")),
)
def test_create_with_bytes_that_are_no_document(
    line: Line, path: tuple[str, str, str], body: bytes, media: str
) -> None:
    prefix = b"k8s\0" if "protobuf" in media else b""
    check(line, "POST", path[0], prefix + body, Content_Type=f"application/{media}")


@QUIET
@given(
    target=st.sampled_from(("/api/v1/namespaces/default", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt")),
    patch=values,
    media=st.sampled_from(PATCHES),
    query=queries,
)
def test_patch_of_any_shape(line: Line, target: str, patch: Any, media: str, query: Any) -> None:
    body = json.dumps(patch).encode()
    check(line, "PATCH", f"{target}?{_quoted(query)}", body, Content_Type=f"application/{media}")


@QUIET
@given(
    method=st.sampled_from(("GET", "PUT", "DELETE", "POST", "PATCH", "HEAD", "OPTIONS", "BREW")),
    root=st.sampled_from((*[kind[0] for kind in KINDS], "/apis", "/api", "/openapi/v3", "/nope", "")),
    rest=st.lists(names, max_size=3),
    query=queries,
    accept=st.sampled_from(("", "application/json;as=Table;v=v1;g=meta.k8s.io", "text/html", "*/*", "a/b;q=x")),
)
def test_any_path_query_and_accept(
    line: Line, method: str, root: str, rest: list[str], query: Any, accept: str
) -> None:
    path = "/".join((root, *(urllib.parse.quote(part, safe="", errors="replace") for part in rest))) or "/"
    if method == "DELETE" and not any(rest):
        path += "/nothing-of-this-name"
    check(line, method, f"{path}?{_quoted(query)}", b"", Accept=accept)
