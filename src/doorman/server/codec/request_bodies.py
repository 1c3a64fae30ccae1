"""Request bodies: JSON, YAML or protobuf to a document, with the strict problems that only the text shows."""

import json
from typing import Any, Final

import msgspec

from doorman.api.machinery.decode_errors import json_type
from doorman.api.machinery.nesting import is_deeper
from doorman.api.machinery.typed_decoding import RepeatedMembers
from doorman.api.well_known import JSON
from doorman.base.bounds import NESTING_MAX, TURN_BYTES_MAX
from doorman.base.errors import ApiError, bad_request, unsupported_media_type
from doorman.base.json_types import Document
from doorman.registry.clean_documents import Body
from doorman.semantics.taints.annotation_lists import syntax_fault
from doorman.server.codec.negotiation import PROTOBUF, YAML
from doorman.server.codec.yaml_bodies import YamlError, load_yaml

VERSION_AND_KIND: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)
"""The type that Kubernetes reads first of every body: its messages name it."""

_TOO_DEEP: Final = "exceeded max depth"

_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


class BodyError(ValueError):
    """The body cannot be read; the text is the parser's."""


class YamlBodyError(BodyError):
    """The same of a body in YAML."""


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def read_body(body: bytes, content_type: str) -> Body:
    """A POST, PUT or DELETE body."""
    match media_type(content_type):
        case "" | "application/json":
            return read_json(body)
        case "application/yaml":
            return read_yaml(body)
        case "application/vnd.kubernetes.protobuf":
            # Loaded when first needed: the library takes a tenth of the time to start.
            from doorman.server.codec.protobuf import ProtobufError, decode_protobuf

            try:
                return Body(decode_protobuf(body))
            except ProtobufError as error:
                raise BodyError(str(error)) from error
    raise unsupported_media_type((JSON, YAML, PROTOBUF))


def read_json(body: bytes) -> Body:
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BodyError(_json_fault(body, error)) from error
    if body.count(b"{") + body.count(b"[") > NESTING_MAX and is_deeper(value, NESTING_MAX):
        raise BodyError(_TOO_DEEP)
    if isinstance(value, dict | list) and _may_repeat(body, value):
        repeated = tuple(_repeated(body))
        pairs = json.loads(body, cls=_decoder(body), object_pairs_hook=_with_pairs) if repeated else None
        return Body(value, repeated, pairs)
    return Body(value)


def read_yaml(body: bytes) -> Body:
    try:
        value, repeated = load_yaml(body)
    except YamlError as error:
        raise YamlBodyError(f"yaml: {error}") from error
    return Body(value, tuple(repeated))


def as_document(body: Body, expected_kind: str, raw: bytes) -> Document:
    if body.value is None:
        return {}  # what says nothing is no fault: it has no name yet
    if not isinstance(body.value, dict):
        fault = f"json: cannot unmarshal {json_type(body.value)} into Go value of type {VERSION_AND_KIND}"
        raise unrecognized(expected_kind, fault, raw)
    return body.value


def unreadable(expected_kind: str, error: BodyError, raw: bytes) -> ApiError:
    """400 for a body that is none."""
    if isinstance(error, YamlBodyError):
        return _unrecognized(expected_kind, str(error), raw)
    return unrecognized(expected_kind, str(error), raw)


def unrecognized(expected_kind: str, fault: str, raw: bytes) -> ApiError:
    """400 for a body that has no readable version and kind."""
    return _unrecognized(expected_kind, f"couldn't get version/kind; json parse error: {fault}", raw)


def check_version_and_kind(expected_kind: str, doc: Document, raw: bytes) -> None:
    """Both must be texts, and the version one of a group, before anybody asks what they say."""
    for member, found in doc.items():
        if member in ("apiVersion", "kind") and found is not None and not isinstance(found, str):
            fault = f"json: cannot unmarshal {json_type(found)} into Go struct field .{member} of type string"
            raise unrecognized(expected_kind, fault, raw)
    version = doc.get("apiVersion") or ""
    if version.count("/") > 1:
        raise _unrecognized(expected_kind, f"unexpected GroupVersion string: {version}", raw)


def kindless(expected_kind: str, raw: bytes) -> ApiError:
    """400 for an object of a custom kind that does not say what it is: nothing but the body tells that."""
    return _unrecognized(expected_kind, f"Object 'Kind' is missing in '{raw.decode(errors='replace')}'", raw)


def _unrecognized(expected_kind: str, fault: str, raw: bytes) -> ApiError:
    return bad_request(
        f"the object provided is unrecognized (must be of type {expected_kind}): {fault} ({_excerpt(raw)})"
    )


def _excerpt(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    shown = raw[:30]
    text = shown.decode(errors="replace") if raw.lstrip().startswith(b"{") else shown.hex()
    return text + (" ..." if len(raw) > 30 else "")


def _json_fault(body: bytes, error: Exception) -> str:
    if not body:
        return "unexpected end of JSON input"
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    try:
        json.loads(body)
    except json.JSONDecodeError:
        return syntax_fault(body)
    except (UnicodeDecodeError, RecursionError):
        return "invalid character in body"
    except ValueError:
        return "a number has too many digits"
    return "invalid character in string escape code" if "truncated" in str(error) else str(error)


def _may_repeat(body: bytes, value: Any) -> bool:
    """A member that occurs twice leaves more quotation marks in the text than in the value. Cheap, errs to yes."""
    if b"\\u0022" in body:
        return True
    return body.count(b'"') != _encode(value).count(b'"')


def _with_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else RepeatedMembers(pairs)


def _repeated(body: bytes) -> list[str]:
    found: dict[str, None] = {}

    def check(pairs: list[tuple[str, Any]]) -> _Members:
        return _Members(pairs)

    _walk_members(json.loads(body, cls=_decoder(body), object_pairs_hook=check), "", found)
    return [f'duplicate field "{path}"' for path in found]


def _decoder(body: bytes) -> type[json.JSONDecoder]:
    return json.JSONDecoder if len(body) <= TURN_BYTES_MAX else _PatientDecoder


class _PatientDecoder(json.JSONDecoder):
    """Written in Python throughout: large bodies are read in a thread, and no other has its turn while C code runs."""

    def __init__(self, **hooks: Any) -> None:
        super().__init__(**hooks)
        self.parse_object = json.decoder.JSONObject  # type: ignore[attr-defined]  # not in the stubs
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]  # not in the stubs


class _Members:
    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def _walk_members(value: Any, path: str, found: dict[str, None]) -> None:
    if isinstance(value, _Members):
        seen: set[str] = set()
        for name, member in value.pairs:
            here = f"{path}.{name}" if path else name
            if name in seen:
                found[here] = None
            seen.add(name)
            if isinstance(member, _Members | list):
                _walk_members(member, here, found)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _walk_members(item, f"{path}[{i}]", found)
