"""Documents to fuzz with: recorded ones that Kubernetes took, shapes from the table of types, and changes to them."""

import copy
import gzip
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from doorman.api.kinds import Kind, builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from support.shapes import Shapes

CORPUS = Path(__file__).parents[1] / "conformance" / "corpus"
GREEDY = ("replicas", "parallelism", "completions", "minReplicas", "maxReplicas", "backoffLimit", "number")
"""Members of which a large number makes work that Kubernetes would do as well: they stay small."""
WORDS = (
    "", " ", "a", "A" * 300, "x" * 70_000, "é", "\u2028", "\ud800", "\0", "-", ".", "..", "/", "%", "a/b/c", "0", "-1",
    "1e400", "1Ei", "1.5.5", "NaN", "null", "true", "*", "**", "$(A)", "{}", "[]", "[*]", "..name", "2020-13-01T0:0:0Z",
    "0001-01-01T00:00:00Z", "10.0.0.1", "::ffff:10.0.0.1", "10.0.0.0/33", "fe80::1%eth0", "NoExecute", "Exists", "Lt",
    "(a+)+$", "[", "\\", "^(?=a)", "IfHealthyBudget", "Foreground", "100%", "101%", "-5%", "* * * * *", "*/0 * * * *",
    "TZ=Nowhere/Else * * * * *", "@every 1s", "kubernetes.io/x", "data:text", "unix:///x", "https://[::1", "http://a b",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2, 1.5, -0.0, 1e308, 2**31, 2**31 - 1, -(2**31) - 1, 2**63, 2**63 - 1, -(2**63) - 1, 10**30, 65536)
EXPRESSIONS = (
    "true", "1", "'a'", "self", "self.x", "object", "object == null", "oldObject.spec.x", "[1,2].map(x, x/0)",
    "self.all(x, x)", "1/0 == 1", "has(self.a.b.c)", "has(object.spec)", "dyn(self)[0]", "{}[1]", "'a'.matches('(')",
    "'a'.matches('(a+)+')", "[].max()", "quantity('x')", "quantity('1').add(1)", "url('::').getHost()", "ip('1')",
    "cidr('1/2').containsIP('x')", "duration('1y')", "timestamp('x')", "self.metadata.name.lowerAscii()", "a.b.c(",
    "((((((((((1))))))))))", "[[[[[[[[]]]]]]]]", "!" * 50 + "true", "-" * 50 + "1", "x ? y : z", "self in self",
    "'%s%d%z'.format([1])", "'a'.substring(-1)", "'abc'.charAt(9)", "[1].lastIndexOf(self)", "sets.contains([], self)",
    "optional.of(1).value()", "self.?a.orValue(1)", "object.metadata.labels['a']", "variables.x", "params.data.x",
    "authorizer.path('/x').check('get').allowed()", "request.object.metadata.name", "format.dns1123Label().value()",
    "Object{spec: Object.spec{}}", "[JSONPatch{op:'add', path:'/a', value:1}]", "semver('1.2')", "9223372036854775808",
    "size(self.spec) < 10u", "b'\\xff' == b''", "string(b'\\xff')", "type(1) == int", "1 == 1.0", "cel.bind(a, 1, a)",
    "self.transformList(i, v, i)", "[1, 2].exists_one(x, x == oldSelf)", "\u2028", "/* */", "//", "'\\u12'", "r'\\'",
)  # fmt: skip
DELETED = object()


@cache
def kinds() -> tuple[Kind, ...]:
    return builtin_kinds().rows


@cache
def recorded() -> dict[str, list[dict[str, Any]]]:
    """Documents that a real API server gave back, by `apiVersion/kind`."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(CORPUS.glob("*.jsonl.gz")):
        with gzip.open(file, "rt") as lines:
            for line in lines:
                answer = json.loads(line)["expected"]
                body = answer.get("body")
                if answer["code"] < 300 and isinstance(body, dict) and "kind" in body:
                    found.setdefault(f"{body['apiVersion']}/{body['kind']}", []).append(body)
    return found


@cache
def _schema() -> Schema:
    return Schema(type_table())


class Documents:
    """One stream of choices."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def of(self, kind: Kind, name: str, namespace: str) -> dict[str, Any]:
        rng = self.rng
        known = recorded().get(f"{kind.group_version}/{kind.kind}", ())
        if known and rng.random() < 0.75:
            doc = copy.deepcopy(rng.choice(known))
            for member in ("uid", "resourceVersion", "managedFields", "selfLink", "deletionTimestamp"):
                doc.get("metadata", {}).pop(member, None)
        elif kind.type_name:
            doc = Shapes(rng.randrange, _schema()).document(kind, name, namespace)
            doc.get("metadata", {}).pop("uid", None)
        else:
            doc = {"metadata": {}, "spec": self.value()}
        doc["apiVersion"], doc["kind"] = kind.group_version, kind.kind
        if isinstance(doc.get("metadata"), dict):
            doc["metadata"]["name"] = name
            doc["metadata"].pop("namespace", None)
        return doc

    def changed(self, doc: Any) -> Any:  # any JSON value
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 1, 1, 2, 3, 8))):
            doc = self._change(doc)
        return tamed(doc)

    def value(self, depth: int = 0) -> Any:  # any JSON value
        rng = self.rng
        match rng.randrange(8 if depth < 4 else 5):
            case 0:
                return rng.choice((None, True, False))
            case 1 | 2:
                return rng.choice(NUMBERS)
            case 3 | 4:
                return rng.choice(WORDS)
            case 5:
                return [self.value(depth + 1) for _ in range(rng.randrange(4))]
            case 6:
                return {
                    rng.choice((*WORDS, "name", "key", "spec")): self.value(depth + 1) for _ in range(rng.randrange(4))
                }
            case _:
                return rng.choice(({}, [], "", 0, [None], {"a": None}, [[]], [{}]))

    def _change(self, doc: Any) -> Any:
        path = self._path(doc)
        if not path:
            return self.value() if self.rng.random() < 0.05 else doc
        *parents, last = path
        holder = doc
        for step in parents:
            holder = holder[step]
        old = holder[last]
        new = self._instead(old, last)
        if new is DELETED:
            del holder[last]
        elif isinstance(holder, dict) and self.rng.random() < 0.08:
            holder[self.rng.choice((*WORDS, "name", "metadata", "$patch", "$setElementOrder/a"))] = holder.pop(last)
        else:
            holder[last] = new
        return doc

    def _instead(self, old: Any, key: str | int) -> Any:
        rng = self.rng
        if key in ("expression", "rule", "messageExpression", "valueExpression", "cel") and rng.random() < 0.8:
            return rng.choice(EXPRESSIONS)
        match rng.randrange(10):
            case 0 | 1:
                return DELETED
            case 2:
                return [old]
            case 3 if isinstance(old, list) and old:
                return old * rng.choice((2, 3, 40))
            case 4 if isinstance(old, list):
                return [*old, self.value()]
            case 5 if isinstance(old, dict):
                return {**old, rng.choice(WORDS): self.value()}
            case 6 if isinstance(old, str):
                return old + rng.choice(WORDS)
            case 7 if isinstance(old, str):
                return rng.choice(EXPRESSIONS)
            case 8 if isinstance(old, int | float):
                return rng.choice(NUMBERS)
        return self.value()

    def _path(self, doc: Any) -> list[str | int]:
        path: list[str | int] = []
        while True:
            if isinstance(doc, dict) and doc:
                step: str | int = self.rng.choice(list(doc))
            elif isinstance(doc, list) and doc:
                step = self.rng.randrange(len(doc))
            else:
                return path
            path.append(step)
            doc = doc[step]
            if self.rng.random() < 0.2:
                return path


def tamed(doc: Any) -> Any:  # any JSON value
    """Without numbers of copies that would be honoured."""
    if isinstance(doc, dict):
        return {
            key: 3 if key in GREEDY and isinstance(value, int | float) and value > 3 else tamed(value)
            for key, value in doc.items()
        }
    return [tamed(value) for value in doc] if isinstance(doc, list) else doc
