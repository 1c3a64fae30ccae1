"""What is linted: objects, from where they come, and where in a file their members are."""

import gzip
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import yaml

from doorman.lint.ignore_comments import Ignores, annotation_ignores, ignores_of
from doorman.lint.yaml_positions import Position, PositionedDocument, YamlPath, read_positioned
from doorman.snapshot.snapshot_format import SnapshotError, from_lines, is_header

GZIP: Final = b"\x1f\x8b"
_START: Final = Position(1, 1)

LintedObject = Mapping[str, Any]  # an object as JSON


class Unlintable(ValueError):
    """A text in which no objects can be found; the text says where and why."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class LintDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One object."""

    value: LintedObject
    source: str
    """The file; empty for objects of a cluster."""
    ignores: Ignores = Ignores()
    at: YamlPath = ()
    """Where the object is in its document: objects of a List are further in."""
    document: PositionedDocument | None = None

    @property
    def kind(self) -> str:
        return str(self.value.get("kind") or "")

    @property
    def group(self) -> str:
        return str(self.value.get("apiVersion") or "").rpartition("/")[0]

    @property
    def metadata(self) -> Mapping[str, Any]:
        return mapping(self.value.get("metadata"))

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or self.metadata.get("generateName") or "")

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace") or "default")

    @property
    def title(self) -> str:
        """`Deployment shop/web`, `Node node-1`."""
        space = self.metadata.get("namespace")
        return f"{self.kind} {space}/{self.name}" if space else f"{self.kind} {self.name}"

    def position(self, path: YamlPath) -> Position:
        return _START if self.document is None else self.document.position((*self.at, *path))


def mapping(value: object) -> Mapping[str, Any]:
    """Whatever was written, as a mapping: what is none has no members."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def read_documents(content: bytes, source: str) -> list[LintDocument]:
    """Manifests in YAML or JSON, dumps of kubectl, or a snapshot (JSON lines, gzip or not). Raises Unlintable."""
    try:
        text = (gzip.decompress(content) if content.startswith(GZIP) else content).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Unlintable(f"{source} cannot be read: {error}", "want YAML, JSON or a snapshot") from error
    if (found := _json_lines(text, source)) is not None:
        return found
    lines = text.splitlines()
    try:
        return [one for document in read_positioned(text) for one in _objects(document, lines, source)]
    except yaml.YAMLError as error:
        hint = (
            "is it a Helm template? render it first: helm template . | doorman lint -"
            if "{{" in text
            else "is it YAML or JSON?"
        )
        raise Unlintable(f"{source}: {' '.join(str(error).split())}", hint) from error
    except RecursionError as error:
        raise Unlintable(f"{source} is nested too deeply", "is it a manifest?") from error


def cluster_documents(objects: Iterable[LintedObject]) -> list[LintDocument]:
    """Objects that come from a cluster and have no lines."""
    return [LintDocument(value=one, source="", ignores=annotation_ignores(one)) for one in objects]


def _json_lines(text: str, source: str) -> list[LintDocument] | None:
    """A snapshot, or one object a line; None when it is something else."""
    lines = [line for line in text.encode().splitlines() if line.strip()]
    if len(lines) > 1 and is_header(lines[0]):
        try:
            return cluster_documents(from_lines(lines, source).documents())
        except SnapshotError as error:
            raise Unlintable(str(error), error.hint) from error
    if len(lines) < 2 or not all(line.startswith(b"{") and line.rstrip().endswith(b"}") for line in lines[:2]):
        return None
    try:
        found = [msgspec.json.decode(line) for line in lines]
    except msgspec.DecodeError:
        return None
    return cluster_documents(one for one in found if isinstance(one, dict) and one.get("kind"))


def _objects(document: PositionedDocument, lines: list[str], source: str) -> Iterator[LintDocument]:
    value = document.value
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str) or not value.get("apiVersion"):
        return  # values of a chart, a kustomization's patch: nothing of an API
    ignores = ignores_of(lines, document.first_line, document.last_line, value)
    if value["kind"].endswith("List") and isinstance(value.get("items"), list):
        kind, version = value["kind"].removesuffix("List"), value["apiVersion"]
        for at, item in enumerate(value["items"]):
            if isinstance(item, dict):
                full = {"apiVersion": version, "kind": kind, **item} if kind else item
                own = msgspec.structs.replace(ignores, document=ignores.document | annotation_ignores(item).document)
                yield LintDocument(value=full, source=source, ignores=own, at=("items", at), document=document)
        return
    yield LintDocument(value=value, source=source, ignores=ignores, document=document)
