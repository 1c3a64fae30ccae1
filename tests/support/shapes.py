"""Documents of every shape that can be stored: made from the table of types, any member there, empty or not there.

They are structurally clean and nothing more. Validation would refuse many of them, and a reader must take them all the
same: validation changes with versions, and of a status there is hardly any.
"""

import random
from collections.abc import Callable
from typing import Any

from doorman.api.kinds import Kind, type_table
from doorman.api.machinery.decode_errors import DecodeError
from doorman.api.machinery.schema import Schema
from doorman.base.json_types import Document

DEPTH_MAX = 7
WORDS = (
    "", "a", "x", "default", "node-1", "p", "Established", "True", "False", "Unknown", "Ready", "Container",
    "Pod", "Node", "Always", "RollingUpdate", "Recreate", "OnDelete", "Exists", "In", "Equal", "NoExecute",
    "NoSchedule", "NotIn", "Lt", "Failed", "Running", "Complete", "ClusterIP", "NodePort", "None",
    "10.96.0.9", "fd00::1", "*", "1.2.3.4/33", "*/5 * * * *", "kubernetes.io/hostname", "a=b", "1h",
    "apps/v1", "ReplicaSet", "Deployment", "v1", "true", "-", "/", "$", "é", "object.metadata.name == 'x'",
    "Exact", "Foreground", "FailIndex", "Indexed", "Webhook", "status.loadBalancer", "7",
)  # fmt: skip
TIMES = ("2020-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z")
QUANTITIES = ("0", "1", "100m", "1Gi", "-1", "1e6", "999999999999999999")
NUMBERS = (0, 1, -1, 2, 7, 100)
RAWS: tuple[Any, ...] = ({}, [], "", 0, None, {"a": {"b": [1]}}, [{}], "x", {"type": "object"}, {"f:spec": {}})

Choice = Callable[[int], int]
"""A number below the one given."""


class Shapes:
    """Makes documents by a series of choices: a seed's, or a strategy's."""

    def __init__(self, choose: Choice, schema: Schema | None = None) -> None:
        self._choose = choose
        self._schema = schema or Schema(type_table())

    def document(self, kind: Kind, name: str, namespace: str) -> Document:
        """One object as it would be stored."""
        doc: Document = self._struct(kind.type_name, 0)
        made = doc.get("metadata", {})
        metadata = {
            key: made[key]
            for key in ("labels", "annotations", "ownerReferences", "finalizers", "deletionTimestamp", "generateName")
            if key in made
        }
        metadata |= {"name": name, "uid": f"{self._choose(1 << 30):08x}-0000", "creationTimestamp": TIMES[0]}
        if namespace:
            metadata["namespace"] = namespace
        doc["metadata"] = metadata
        try:
            doc, _ = self._schema.clean(doc, kind.type_name)
        except DecodeError:
            return {"metadata": metadata}
        return doc

    def thinned(self, value: Any) -> Any:  # any JSON value
        """A document without some of its members."""
        if isinstance(value, dict):
            return {key: self.thinned(inner) for key, inner in value.items() if self._choose(12)}
        if isinstance(value, list):
            return [self.thinned(inner) for inner in value if self._choose(12)]
        return value

    def _struct(self, type_name: str, depth: int) -> Document:
        out: Document = {}
        for name, field in self._schema.fields(type_name).items():
            if depth > DEPTH_MAX or self._choose(10) < (2 if depth == 0 else 5):
                continue
            out[name] = self._value(field, depth + 1)
        return out

    def _value(self, field: Any, depth: int) -> Any:  # a type expression; any JSON value
        if isinstance(field, dict):
            return self._value(field["t"], depth)
        if isinstance(field, list):
            count = 0 if depth > DEPTH_MAX else self._choose(3)
            if field[0] == "list":
                return [self._value(field[1], depth + 1) for _ in range(count)]
            return {self._word(): self._value(field[1], depth + 1) for _ in range(count)}
        if field.startswith("@"):
            return self._struct(field[1:], depth)
        match field:
            case "string":
                return self._word()
            case "int32" | "int64" | "double":
                return NUMBERS[self._choose(len(NUMBERS))]
            case "bool":
                return self._choose(2) == 0
            case "time":
                return TIMES[self._choose(len(TIMES))]
            case "microtime":
                return TIMES[0].replace("Z", ".000000Z")
            case "quantity":
                return QUANTITIES[self._choose(len(QUANTITIES))]
            case "bytes":
                return ("", "YQ==")[self._choose(2)]
            case "intstr":
                return (0, 1, "25%", "x", "")[self._choose(5)]
        return RAWS[self._choose(len(RAWS))]

    def _word(self) -> str:
        return WORDS[self._choose(len(WORDS))]


def by_seed(seed: object) -> Choice:
    return random.Random(repr(seed)).randrange
