"""Which form an answer takes: the Accept header against what the server can give."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final

import msgspec

from doorman.api.kinds import Kind, go_package
from doorman.api.well_known import JSON
from doorman.base.errors import ApiError, not_acceptable

YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

_OFFERED: Final = f"only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}"
_OFFERED_WATCH: Final = f"only the following media types are accepted: {JSON};stream=watch, {PROTOBUF};stream=watch"
PRODUCED: Final = (JSON, YAML, PROTOBUF)
PRODUCED_BY_LISTS: Final = (*PRODUCED, f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
PRODUCED_BY_LOGS: Final = ("text/plain", *PRODUCED)

_CONVERSIONS: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


_UNACCEPTABLE: Final = (406, "NotAcceptable", "Not Acceptable")
_UNTYPED: Final = (415, "UnsupportedMediaType", "Unsupported Media Type")


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    media_type: str = JSON
    conversion: str = ""
    """`Table`, `PartialObjectMetadata`, `PartialObjectMetadataList`, or nothing."""
    conversion_version: str = ""
    pretty: bool = False


class _Clause(msgspec.Struct, frozen=True):
    type: str
    subtype: str
    quality: float
    parameters: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1024)
def negotiate(accept: str, *, is_watch: bool = False, converts: bool = True) -> Accepted:
    """The best form, or 406. Bodies are never answered in protobuf: every client also takes JSON.

    `converts`: false for kinds that are only ever posted, of which there are no tables.
    """
    if not accept:
        return Accepted()
    for clause in sorted(_clauses(accept), key=lambda c: (-c.quality, c.type == "*", c.subtype == "*")):
        found = _match(clause, is_watch)
        if found is not None and (converts or not found.conversion):
            return found
    # Of a watch the form of the stream is looked at before what is in it.
    has_stream = any(_match(_Clause(c.type, c.subtype, c.quality, ()), is_watch) is not None for c in _clauses(accept))
    raise not_acceptable(_OFFERED_WATCH if is_watch and not has_stream else _OFFERED)


def is_produced(accept: str, produced: tuple[str, ...]) -> bool:
    """Whether a route that gives these may be asked for: its router looks at whole names and at nothing behind them.

    >>> is_produced("text/html, */*;q=0.1", PRODUCED), is_produced("application/*", PRODUCED)
    (True, False)
    """
    wanted = [clause.partition(";")[0].strip() for clause in (accept or "*/*").split(",")]
    return "*/*" in wanted or any(one in produced for one in wanted)


def produced_refusal(
    accept: str, produced: tuple[str, ...], *, is_empty_write: bool = False
) -> Callable[[], ApiError] | None:
    """The router's, if it has one. Of writes without a body it says that their body is of the wrong type."""
    if is_produced(accept, produced):
        return None
    code, reason, text = _UNTYPED if is_empty_write else _UNACCEPTABLE
    available = f"{code}: {text}\n\nAvailable representations: {', '.join(produced)}"
    return partial(ApiError, code, reason, available, details={})


@lru_cache(maxsize=256)
def wants_aggregated_discovery(accept: str) -> bool:
    """Whether the first acceptable clause asks for aggregated discovery v2."""
    for clause in sorted(_clauses(accept), key=lambda c: -c.quality):
        if f"{clause.type}/{clause.subtype}" not in (JSON, "*/*", "application/*"):
            continue
        parameters = dict(clause.parameters)
        if not parameters.get("as"):
            return False
        wanted = (parameters.get("g"), parameters.get("v"), parameters.get("as"))
        if wanted == ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"):
            return True
    return False


def _match(clause: _Clause, is_watch: bool) -> Accepted | None:
    parameters = dict(clause.parameters)
    conversion = parameters.get("as", "")
    if conversion:
        if parameters.get("g") != "meta.k8s.io" or parameters.get("v") not in ("v1", "v1beta1"):
            return None
        if conversion not in _CONVERSIONS:
            return None
    if parameters.get("stream", "") not in ("", "watch") or parameters.get("sv", "v1") != "v1":
        return None
    for offered in (JSON,) if is_watch else (JSON, YAML):
        kind, _, subtype = offered.partition("/")
        if clause.type in (kind, "*") and clause.subtype in (subtype, "*"):
            return Accepted(
                media_type=offered,
                conversion=conversion,
                conversion_version=parameters.get("v", ""),
                pretty=parameters.get("pretty") == "1",
            )
    return None


def _clauses(accept: str) -> list[_Clause]:
    found = []
    for text in accept.split(","):
        media, *rest = (part.strip() for part in text.split(";"))
        if not media:
            continue
        kind, _, subtype = media.partition("/")
        parameters = []
        quality = 1.0
        for parameter in rest:
            name, _, value = parameter.partition("=")
            if name == "q":
                quality = _quality(value)
            else:
                parameters.append((name.strip(), value.strip()))
        found.append(_Clause(kind, subtype or "*", quality, tuple(parameters)))
    return found


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def unusable_for_list(conversion: str, kind: Kind) -> ApiError:
    shown = "*unstructured.UnstructuredList" if kind.is_custom else f"*{_package(kind)}.{kind.kind}List"
    return not_acceptable(f"you requested {conversion}, but the requested object is a list ({shown})")


def unusable_for_object(conversion: str, kind: Kind) -> ApiError:
    if kind.is_custom and conversion.endswith("List"):
        return ApiError(500, "", "content is not a list")
    shown = f"*{_package(kind)}.{kind.kind}"
    return not_acceptable(f"you requested {conversion}, but the requested object is not a list ({shown})")


def _package(kind: Kind) -> str:
    """Events of both groups are those of the first inside."""
    return "core" if kind.kind == "Event" else go_package(kind)
