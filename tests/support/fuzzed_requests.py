"""Requests of one seed: every kind and verb, in every encoding, broken in every layer.

A request is a function of the seed, of its number, and of the last continue token that the server gave.
"""

import base64
import json
import random
import urllib.parse
from typing import Any, NamedTuple

import yaml

from doorman.api.kinds import Kind
from support.fuzzed_documents import EXPRESSIONS, WORDS, Documents, kinds
from support.protobuf_bodies import is_known, to_protobuf

NAMES = tuple(f"f{number}" for number in range(3))
NAMESPACE = "fuzz"
DISRUPTIVE = frozenset(
    {
        "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicybindings",
        "mutatingadmissionpolicybindings", "flowschemas", "prioritylevelconfigurations", "resourcequotas",
        "limitranges", "apiservices", "tolerationpolicies", "customresourcedefinitions",
    }
)  # fmt: skip
"""What decides about other requests: it is deleted again soon, or nothing else would be tried."""
PATCHES = ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
SELECTORS = (
    "a=b", "a==b", "a!=b", "a in (b,c)", "a notin ()", "!a", "a", "a>1", "a<x", "a,b", ",", "=", "a=b=c", "a in b",
    "a in (b", "(", "a=é", "a=" + "x" * 70, "x" * 300, "metadata.name=f1", "metadata.name!=", "status.phase=Running",
    "spec.nodeName=node-1", "spec.nodeName=\\,", "a=b\\=c,d=", "metadata.namespace=fuzz,metadata.name=f0", "in in (in)",
)  # fmt: skip
YAML_BITS = (
    "\t", "&a ", "*a", "!!python/object:x ", "? ", "<<: ", "---\n", "- ", ": ", "'", "{", "%", "\x00", "!!binary x",
    "0x", "1_000", ".inf", "0o7", "y",
)  # fmt: skip
ACCEPTS = (
    "", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor", "*/*",
    "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;as=Nothing;v=v9;g=x",
    "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", "application/json;stream=watch", "a/b;q=x", "é",
    "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", ";;;", "application/json;q=0",
)  # fmt: skip
PLACES = (
    "/", "/api", "/apis", "/version", "/healthz", "/readyz?verbose", "/livez?exclude=x", "/metrics", "/openapi/v2",
    "/openapi/v3", "/openapi/v3/api/v1", "/openapi/v3/apis/nope/v1", "/.well-known/openid-configuration",
    "/openid/v1/jwks", "/apis/apps", "/apis/apps/v9", "/api/v1/nodes/node-1/proxy/x",
    "/api/v1/namespaces/fuzz/pods/f0/log?tailLines=x",
    "/api/v1/namespaces/fuzz/pods/f0/exec?command=x", "/api/v1/namespaces/fuzz/services/f0/proxy/", "/logs",
    "/debug/pprof/", "/apis/doorman.dev/v1/namespaces/fuzz/podexplanations/f0", "/apis/doorman.dev/v1/zones",
    "/doorman/clock",
    "/flagz", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/f0/status", "//api//v1",
    "/api/v1/../v1/pods", "/%2e%2e/api",
)  # fmt: skip


class FuzzedRequest(NamedTuple):
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    raw: bytes = b""
    """Instead of everything else: bytes for a connection of their own."""
    cleans: str = ""
    """The path of something that must not stay for long."""

    def packed(self) -> list[Any]:
        """For a file."""
        coded = [base64.b64encode(part).decode() for part in (self.body, self.raw)]
        return [self.method, self.path, [list(header) for header in self.headers], *coded, self.cleans]

    @classmethod
    def unpacked(cls, packed: list[Any]) -> "FuzzedRequest":
        method, path, headers, body, raw, cleans = packed
        pairs = tuple((name, value) for name, value in headers)
        return cls(method, path, pairs, base64.b64decode(body), base64.b64decode(raw), cleans)


class Requests:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = random.Random(seed)
        self._documents = Documents(self._rng)

    def make(self, number: int, token: str) -> FuzzedRequest:
        self._rng.seed(f"{self._seed}/{number}")
        pick = self._rng.random()
        kind = self._rng.choice(kinds())
        if not {"create", "list"} <= set(kind.verbs) and self._rng.random() < 0.8:
            kind = self._rng.choice(kinds())
        if pick < 0.40:
            return self._write(kind)
        if pick < 0.65:
            return self._patch(kind)
        if pick < 0.82:
            return self._read(kind, token)
        if pick < 0.87:
            return self._delete(kind)
        if pick < 0.96:
            return self._definition()
        if pick < 0.98:
            return self._place()
        return self._raw()

    # Families

    def _write(self, kind: Kind) -> FuzzedRequest:
        rng, name = self._rng, self._rng.choice(NAMES)
        doc = self._documents.changed(self._documents.of(kind, name, NAMESPACE))
        method, path = "POST", _collection(kind)
        cleans = f"{path}/{name}" if kind.resource in DISRUPTIVE else ""
        if rng.random() < 0.45:
            method, path = "PUT", f"{path}/{name}"
        if kind.subresources and rng.random() < 0.35:
            sub = rng.choice(kind.subresources)
            if sub.kind != kind.kind:
                doc = self._documents.changed(self._subresource_body(sub.kind, name))
            method, path = (
                "POST" if "create" in sub.verbs else rng.choice(("PUT",) * 8 + ("POST",)),
                f"{_collection(kind)}/{name}/{sub.name}",
            )
        media, body = self._encoded(doc, kind)
        return FuzzedRequest(method, path + self._query(), self._headers(media), body, cleans=cleans)

    def _subresource_body(self, kind: str, name: str) -> dict[str, Any]:
        version = {"Scale": "autoscaling/v1", "Eviction": "policy/v1", "TokenRequest": "authentication.k8s.io/v1"}
        rest: dict[str, Any] = {
            "Scale": {"spec": {"replicas": 2}},
            "Eviction": {"deleteOptions": {"gracePeriodSeconds": 1}},
            "TokenRequest": {"spec": {"audiences": ["a"], "expirationSeconds": 600}},
            "Binding": {"target": {"kind": "Node", "name": "node-1"}},
        }.get(kind, {})
        return {"apiVersion": version.get(kind, "v1"), "kind": kind, "metadata": {"name": name}, **rest}

    def _patch(self, kind: Kind) -> FuzzedRequest:
        rng, name = self._rng, self._rng.choice(NAMES)
        media = rng.choice(PATCHES)
        doc = self._documents.of(kind, name, NAMESPACE)
        path = f"{_collection(kind)}/{name}"
        cleans = path if kind.resource in DISRUPTIVE else ""
        if kind.subresources and rng.random() < 0.3:
            path += f"/{rng.choice(kind.subresources).name}"
        query = self._query()
        if media.startswith("json-patch"):
            body = json.dumps(self._operations(doc)).encode()
        elif media.startswith("apply"):
            query += ("&" if query else "?") + rng.choice(
                ("fieldManager=a", "fieldManager=b&force=true") * 5 + ("force=x",)
            )
            text = yaml.safe_dump(self._documents.changed(doc)) if rng.random() < 0.3 else None
            body = (text or _json(self._documents.changed(doc))).encode("utf-8", "surrogatepass")
        else:
            part = {key: doc[key] for key in rng.sample(sorted(doc), rng.randrange(1, len(doc) + 1))}
            body = _json(self._directed(self._documents.changed(part))).encode("utf-8", "surrogatepass")
        return FuzzedRequest("PATCH", path + query, self._headers(f"application/{media}"), body, cleans=cleans)

    def _operations(self, doc: dict[str, Any]) -> Any:
        rng, found = self._rng, []
        for _ in range(rng.choice((0, 1, 1, 2, 5, 30))):
            pointer = "/" + "/".join(_escaped(step) for step in self._documents._path(doc))
            pointer += rng.choice(("", "", "", "/-", "/0", "/99", "/~", "/~2", "/x/y", "/"))
            operation = {"op": rng.choice(("add", "remove", "replace", "move", "copy", "test", "x")), "path": pointer}
            if rng.random() < 0.8:
                operation["value"] = self._documents.value()
            if rng.random() < 0.4:
                operation["from"] = "/" + "/".join(_escaped(step) for step in self._documents._path(doc))
            found.append(self._documents.changed(operation) if rng.random() < 0.1 else operation)
        return found

    def _directed(self, patch: Any) -> Any:
        """With directives of strategic merge patches here and there."""
        rng = self._rng
        if isinstance(patch, list):
            return [self._directed(each) for each in patch] + ([{"$patch": "replace"}] if rng.random() < 0.05 else [])
        if not isinstance(patch, dict):
            return patch
        out = {key: self._directed(value) for key, value in patch.items()}
        if rng.random() < 0.08:
            out["$patch"] = rng.choice(("delete", "replace", "merge", "x", 1, None))
        if out and rng.random() < 0.06:
            key = rng.choice(sorted(out))
            prefix = rng.choice(("$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys", "$x/"))
            out[prefix if prefix == "$retainKeys" else prefix + key] = rng.choice(
                (out[key], [], ["a"], [{"name": "a"}], "a")
            )
        return out

    def _read(self, kind: Kind, token: str) -> FuzzedRequest:
        rng = self._rng
        path = rng.choice((_collection(kind), f"{kind.path}/{kind.resource}"))
        if rng.random() < 0.3:
            path = f"{_collection(kind)}/{rng.choice(NAMES)}"
        query: dict[str, str] = {}
        if rng.random() < 0.5:
            query["labelSelector"] = self._selector()
        if rng.random() < 0.3:
            query["fieldSelector"] = self._selector()
        if rng.random() < 0.4:
            query["limit"] = rng.choice(("1", "2", "0", "-1", "x", "500", "99999999999999999999"))
        if rng.random() < 0.4:
            query["continue"] = self._token(token)
        if rng.random() < 0.2:
            query["resourceVersion"] = rng.choice(("0", "1", "x", "-1", "99", "1.5", "9" * 25))
            query["resourceVersionMatch"] = rng.choice(("Exact", "NotOlderThan", "x", ""))
        if rng.random() < 0.04:
            query |= {"watch": "1", "timeoutSeconds": "1", "sendInitialEvents": rng.choice(("true", "x"))}
            return self._alone("GET", path, query)
        if rng.random() < 0.2:
            query[rng.choice(("pretty", "includeObject", "export", "timeout", "shardSelector"))] = rng.choice(WORDS)
        return FuzzedRequest(
            "GET", _with(path, query), self._headers("", rng.choice(ACCEPTS) if rng.random() < 0.5 else ""), b""
        )

    def _delete(self, kind: Kind) -> FuzzedRequest:
        rng = self._rng
        query: dict[str, str] = {}
        body: bytes = b""
        if rng.random() < 0.5:
            options = {
                "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": rng.choice((0, 1, -1, 2**40)),
                "propagationPolicy": rng.choice(("Foreground", "Orphan", "Background", "x")),
                "preconditions": rng.choice(({}, {"uid": "x"}, {"resourceVersion": "1"}, None)),
                "dryRun": rng.choice(([], ["All"], ["x"], None)),
            }  # fmt: skip
            body = _json(self._documents.changed(options)).encode("utf-8", "surrogatepass")
        else:
            query = {
                rng.choice(("gracePeriodSeconds", "propagationPolicy", "dryRun")): rng.choice(
                    ("0", "1", "Orphan", "All")
                )
            }
        path = f"{_collection(kind)}/{rng.choice(NAMES)}"
        if kind.namespaced and rng.random() < 0.15:
            path = _collection(kind)
            query["labelSelector"] = self._selector()
        return FuzzedRequest("DELETE", _with(path, query), self._headers("application/json"), body)

    def _definition(self) -> FuzzedRequest:
        """A custom kind with rules, or one object of it."""
        rng, plural = self._rng, self._rng.choice(("fuzzes", "fizzes"))
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        name = f"{plural}.fuzz.example.com"
        if rng.random() < 0.5:
            spec = self._documents.value()
            body = {
                "apiVersion": "fuzz.example.com/v1",
                "kind": plural.title(),
                "metadata": {"name": rng.choice(NAMES)},
                "spec": spec,
            }
            collection = f"/apis/fuzz.example.com/v1/namespaces/{NAMESPACE}/{plural}"
            sent = _json(self._documents.changed(body)).encode("utf-8", "surrogatepass")
            return FuzzedRequest("POST", collection + self._query(), self._headers("application/json"), sent)
        doc = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name}}
        served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": self._structural(0)}}
        names = {"plural": plural, "singular": plural[:-2], "kind": plural.title(), "listKind": f"{plural.title()}List"}
        doc["spec"] = {"group": "fuzz.example.com", "scope": "Namespaced", "names": names, "versions": [served]}
        if rng.random() < 0.4:
            doc = self._documents.changed(doc)
        method, path = rng.choice(
            (("POST", definitions), ("PUT", f"{definitions}/{name}"), ("DELETE", f"{definitions}/{name}"))
        )
        return FuzzedRequest(
            method, path, self._headers("application/json"), _json(doc).encode("utf-8", "surrogatepass")
        )

    def _structural(self, depth: int) -> dict[str, Any]:
        rng = self._rng
        kind = "object" if depth == 0 else rng.choice(("object", "string", "integer", "array", "boolean", "number"))
        out: dict[str, Any] = {"type": kind}
        if kind == "object" and depth < 3:
            members = {"spec": self._structural(1)} if depth == 0 else {}
            out["properties"] = members | {
                rng.choice("abcde"): self._structural(depth + 1) for _ in range(rng.randrange(3))
            }
            if rng.random() < 0.2:
                out["x-kubernetes-preserve-unknown-fields"] = True
        if kind == "array":
            out["items"] = self._structural(depth + 1)
            out |= {"maxItems": 5} if rng.random() < 0.7 else {}
        if kind == "string":
            out |= rng.choice(
                ({"maxLength": 9}, {"pattern": rng.choice(WORDS)}, {"format": "date-time"}, {"enum": ["a"]}, {})
            )
        if rng.random() < 0.3:
            rule = {"rule": rng.choice(EXPRESSIONS)} | rng.choice(({}, {"messageExpression": rng.choice(EXPRESSIONS)}))
            out["x-kubernetes-validations"] = [rule]
        if rng.random() < 0.15:
            out["default"] = self._documents.value()
        return out

    def _place(self) -> FuzzedRequest:
        rng = self._rng
        method = rng.choice(("GET", "GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "BREW"))
        path = rng.choice(PLACES)
        if rng.random() < 0.3:
            path += urllib.parse.quote(rng.choice(WORDS), safe="/%?&=", errors="replace")[:8000]
        return FuzzedRequest(method, path, self._headers("", rng.choice(ACCEPTS)), b"" if method != "POST" else b"{}")

    def _raw(self) -> FuzzedRequest:
        rng = self._rng
        good = b"POST /api/v1/namespaces/fuzz/configmaps HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"
        match rng.randrange(6):
            case 0:
                raw = rng.randbytes(rng.randrange(1, 400))
            case 1:
                at = rng.randrange(len(good))
                raw = good[:at] + rng.randbytes(rng.randrange(4)) + good[at + rng.randrange(3) :]
            case 2:
                raw = good.replace(b"Content-Length: 2", rng.choice((
                    b"Content-Length: -1", b"Content-Length: 2\r\nContent-Length: 3", b"Transfer-Encoding: chunked",
                    b"Transfer-Encoding: chunked\r\nContent-Length: 2", b"Expect: 100-continue", b"Upgrade: websocket",
                    b"Content-Length: 99999999999999999999", b"Connection: upgrade\r\nUpgrade: h2c", b": x",
                    b"A" * 9000,
                )))  # fmt: skip
            case 3:
                raw = b"GET /version HTTP/1.1\r\nHost: h\r\n" + b"x: y\r\n" * rng.choice((1, 200, 2000)) + b"\r\n"
            case 4:
                raw = good.replace(b"{}", b"2\r\n{}\r\n0\r\nx: y\r\n\r\n").replace(
                    b"Content-Length: 2", b"Transfer-Encoding: chunked"
                )
            case _:
                raw = b"GET /version HTTP/1.1\r\nHost: h\r\n\r\n" * rng.choice((2, 20))
        return FuzzedRequest("", "", (), b"", raw=raw)

    # Parts

    def _alone(self, method: str, path: str, query: dict[str, str]) -> FuzzedRequest:
        """On a connection of its own that the client gives up."""
        raw = f"{method} {_with(path, query)} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer TOKEN\r\n\r\n"
        return FuzzedRequest("", "", (), b"", raw=raw.encode())

    def _query(self) -> str:
        rng = self._rng
        if rng.random() < 0.85:
            return ""
        found = {
            rng.choice(("fieldValidation", "dryRun", "fieldManager", "pretty", "force", "x")): rng.choice(
                ("Strict", "Warn", "Ignore", "All", "true", "1", "x" * 130, "", "é")
            )
            for _ in range(rng.randrange(1, 3))
        }
        return _with("", found)

    def _headers(self, media: str, accept: str = "") -> tuple[tuple[str, str], ...]:
        found = []
        if media:
            found.append(("Content-Type", media))
        if accept:
            found.append(("Accept", accept))
        if self._rng.random() < 0.01:
            found.append(
                (
                    self._rng.choice(
                        (
                            "Impersonate-User",
                            "Impersonate-Group",
                            "User-Agent",
                            "Accept-Encoding",
                            "If-None-Match",
                            "Impersonate-Extra-x",
                            "Impersonate-Uid",
                        )
                    ),
                    self._rng.choice(("gzip", "system:masters", "x", "é")),
                )
            )
        return tuple(found)

    def _encoded(self, doc: Any, kind: Kind) -> tuple[str, bytes]:
        rng, pick = self._rng, self._rng.random()
        if pick < 0.15 and is_known(kind.group_version, kind.kind):
            try:
                body = to_protobuf(doc, kind.group_version, kind.kind)
            except Exception:  # noqa: BLE001  what does not fit is sent as JSON
                return "application/json", _json(doc).encode("utf-8", "surrogatepass")
            return "application/vnd.kubernetes.protobuf", self._bent(body) if rng.random() < 0.7 else body
        if pick < 0.30:
            try:
                text = yaml.safe_dump(doc, default_flow_style=rng.choice((True, False, None)))
            except yaml.YAMLError:
                text = ""
            if rng.random() < 0.4:
                at = rng.randrange(len(text) + 1)
                text = text[:at] + rng.choice(YAML_BITS) + text[at:]
            return "application/yaml", text.encode("utf-8", "surrogatepass")
        body = _json(doc).encode("utf-8", "surrogatepass")
        return rng.choice(("application/json",) * 30 + ("", "text/plain", "application/cbor")), (
            self._bent(body) if pick > 0.9 else body
        )

    def _bent(self, body: bytes) -> bytes:
        rng = self._rng
        out = bytearray(body)
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(out) + 1)
            match rng.randrange(4):
                case 0:
                    out[at : at + 1] = rng.randbytes(1)
                case 1:
                    del out[at : at + rng.randrange(1, 9)]
                case 2:
                    out[at:at] = rng.randbytes(rng.randrange(1, 5))
                case _:
                    del out[at + (len(out) - at) // 2 :]
        return bytes(out)

    def _selector(self) -> str:
        rng = self._rng
        found = ",".join(rng.choice(SELECTORS) for _ in range(rng.choice((1, 1, 2, 3))))
        if rng.random() < 0.15:
            at = rng.randrange(len(found) + 1)
            found = found[:at] + rng.choice(("(", ")", ",", "=", "!", "\\", "\0", "é", " ")) + found[at:]
        return found

    def _token(self, token: str) -> str:
        """The server's own, or one that is hardly different."""
        rng = self._rng
        if rng.random() < 0.3 or not token:
            return rng.choice(
                (
                    token,
                    "x",
                    "e30",
                    "e30=",
                    base64.b64encode(_json(self._documents.value()).encode("utf-8", "replace")).decode(),
                )
            )
        try:
            opened = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except ValueError:
            return token
        text = _json(self._documents.changed(opened)).encode("utf-8", "replace")
        return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _collection(kind: Kind) -> str:
    return f"{kind.path}/namespaces/{NAMESPACE}/{kind.resource}" if kind.namespaced else f"{kind.path}/{kind.resource}"


def _with(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urllib.parse.urlencode(query, errors='replace')}" if query else path


def _escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def _json(doc: Any) -> str:
    return json.dumps(doc, ensure_ascii=False)
