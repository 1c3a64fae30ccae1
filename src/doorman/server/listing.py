"""Lists: options, resourceVersion semantics, pages."""

import base64
import re
from typing import Final

import msgspec

from doorman.api.kinds import Kind
from doorman.api.machinery.decode_errors import json_type
from doorman.api.machinery.field_selectors import FieldSelectorError, parse_field_selector, resolve_terms
from doorman.api.machinery.label_selectors import parse_selector
from doorman.api.well_known import META_V1
from doorman.base.errors import (
    ApiError,
    Cause,
    FieldError,
    bad_request,
    expired,
    forbidden,
    invalid_object,
    not_supported,
    timeout,
)
from doorman.base.json_types import Document
from doorman.base.loop_turns import Turn
from doorman.registry.cache.collection import Collection, TooOld
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored
from doorman.registry.registry import Registry
from doorman.server.codec.list_bodies import ListPage
from doorman.server.codec.request_bodies import read_json
from doorman.server.request import Query

_NO_BASE64: Final = re.compile(r"[^A-Za-z0-9_-]")
_CONTINUE_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    selection: Selection
    limit: int
    continue_token: str
    resource_version: str
    match: str


class _Token(msgspec.Struct, frozen=True):
    v: str = ""
    rv: int = 0
    start: str = ""


def parse_selection(kind: Kind, namespace: str, query: Query, *, name: str = "") -> Selection:
    try:
        text = query.get("labelSelector")
        labels = parse_selector(text) if text else None
    except ValueError as error:
        raise bad_request(f"unable to parse requirement: {error}" if _is_bare(str(error)) else str(error)) from error
    try:
        terms = parse_field_selector(query.get("fieldSelector"))
        fields = resolve_terms(
            terms,
            group_resource=kind.group_resource,
            storage=kind.storage,
            group_version=kind.group_version,
            kind=kind.kind,
            namespaced=kind.namespaced,
            is_custom=kind.is_custom,
            more=kind.selectable,
        )
    except FieldSelectorError as error:
        raise bad_request(str(error)) from error
    selection = Selection(storage=kind.storage, namespace=namespace, labels=labels, fields=fields)
    if name:
        return _named(selection, name)
    return selection


def is_selected(item: Document, selection: Selection) -> bool:
    """Whether an object that is not stored is among those asked for, by its labels, name and namespace."""
    metadata = item.get("metadata") or {}
    if selection.labels is not None and not selection.labels.matches(metadata.get("labels") or {}):
        return False
    found = {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}
    return all(term.admits(found.get(term.field, "")) for term in selection.fields)


def _named(selection: Selection, name: str) -> Selection:
    pinned = selection.pin("metadata.name")
    if pinned is not None and pinned != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    terms = (*selection.fields, *parse_field_selector(f"metadata.name={name}"))
    return msgspec.structs.replace(selection, fields=terms)


def _is_bare(text: str) -> bool:
    """Whether a selector's fault lacks its usual head."""
    return not text.startswith(("unable to parse", "found '", "couldn't parse"))


def parse_list_options(kind: Kind, namespace: str, query: Query) -> ListOptions:
    query.integer_or_none("timeoutSeconds")  # nothing to do with it here, but it must be a number
    options = ListOptions(
        selection=parse_selection(kind, namespace, query),
        limit=max(query.integer_or_none("limit") or 0, 0),
        continue_token=query.get("continue"),
        resource_version=query.get("resourceVersion"),
        match=query.get("resourceVersionMatch"),
    )
    errors: list[FieldError] = []
    if options.match:
        if not options.resource_version:
            errors.append(_forbidden_match("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            errors.append(_forbidden_match("resourceVersionMatch is forbidden when continue is provided"))
        if options.match not in ("Exact", "NotOlderThan"):
            errors.append(not_supported("resourceVersionMatch", options.match, ("Exact", "NotOlderThan", "")))
        if options.match == "Exact" and options.resource_version == "0":
            errors.append(_forbidden_match('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if query.has("sendInitialEvents"):
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if errors:
        raise invalid_object("ListOptions", "meta.k8s.io", "", errors)
    return options


def _forbidden_match(detail: str) -> FieldError:
    return forbidden("resourceVersionMatch", detail)


def parse_revision(text: str) -> int:
    """A resourceVersion from a client."""
    if not text:
        return 0
    if fault := revision_fault(text):
        raise bad_request(f"invalid resource version: {fault}")
    return int(text)


def revision_fault(text: str) -> str:
    if text.isascii() and text.isdigit():
        return ""
    return f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'


def too_new(revision: int, current: int) -> ApiError:
    """504 for a revision that has not happened."""
    causes = [Cause(reason="ResourceVersionTooLarge", message="Too large resource version")]
    return timeout(f"Too large resource version: {revision}, current: {current}", retry_after_seconds=1, causes=causes)


async def list_page(registry: Registry, kind: Kind, options: ListOptions) -> ListPage:
    """One page. A revision in the future is refused at once: this server is always at the newest."""
    collection = registry.collection(kind)
    current = registry.cache.revision
    if options.continue_token:
        return await _continued(registry, kind, options)
    revision = parse_revision(options.resource_version)
    if revision > current:
        raise too_new(revision, current)
    limit = 0 if options.resource_version == "0" and not options.match else options.limit
    is_exact = options.match == "Exact" or (revision > 0 and limit > 0 and not options.match)
    if is_exact and revision < current:
        try:
            return await _page(collection, options.selection, revision, limit, at_revision=revision)
        except TooOld as error:
            raise expired("The resourceVersion for the provided list is too old.") from error
    return await _newest_page(registry, collection, options.selection, limit)


async def _newest_page(
    registry: Registry, collection: Collection, selection: Selection, limit: int, *, after: str = ""
) -> ListPage:
    """As things are now, or, where reading takes turns in which more happens than is remembered, a little later."""
    while True:
        try:
            return await _page(collection, selection, registry.cache.revision, limit, after=after)
        except TooOld:
            continue


async def _continued(registry: Registry, kind: Kind, options: ListOptions) -> ListPage:
    token = _read_token(options.continue_token)
    if options.resource_version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    if token.rv > registry.cache.revision:
        raise too_new(token.rv, registry.cache.revision)
    collection = registry.collection(kind)
    start = token.start.rstrip("\0")
    oldest = registry.compaction.oldest(registry.cache.revision)
    if token.rv < 0:
        # The client chose to go on although the consistent view is gone.
        return await _newest_page(registry, collection, options.selection, options.limit, after=start)
    try:
        if token.rv < oldest:
            raise TooOld(oldest)
        return await _page(collection, options.selection, token.rv, options.limit, at_revision=token.rv, after=start)
    except TooOld as error:
        raise expired(_CONTINUE_TOO_OLD, continue_token=_write_token(-1, start)) from error


async def _page(
    collection: Collection,
    selection: Selection,
    revision: int,
    limit: int,
    *,
    at_revision: int | None = None,
    after: str = "",
) -> ListPage:
    """Raises `TooOld`. A page costs what is looked at for it, from where the last one ended; if that is much, others
    have their turn meanwhile, and the page goes on as if nothing had changed.
    """
    items: list[Stored] = []
    turn = Turn()
    is_whole = False
    while not is_whole:
        is_whole = True
        for last, found in collection.scan_at(selection, at_revision, after=after):
            items += found
            if limit and len(items) > limit:
                break
            if turn.is_over():
                after, at_revision, is_whole = last, revision, False
                await turn.next()
                break
    if not limit or len(items) <= limit:
        return ListPage(items=items, revision=revision)
    del items[limit:]
    key = items[-1].key
    return ListPage(
        items=items,
        revision=revision,
        continue_token=_write_token(revision, key),
        remaining=collection.count_after(selection, key, at_revision) if selection.is_everything else None,
    )


def _write_token(revision: int, last_key: str) -> str:
    token = msgspec.json.encode(_Token(META_V1, revision, last_key + "\0"))
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def _read_token(text: str) -> _Token:
    strange = _NO_BASE64.search(text)
    if strange is not None or len(text) % 4 == 1:
        raise _bad_token(f"illegal base64 data at input byte {strange.start() if strange else len(text) - 1}")
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        found = read_json(raw).value
        if found is not None and not isinstance(found, dict):
            raise _bad_token(f"json: cannot unmarshal {json_type(found)} into Go value of type storage.continueToken")
        token = msgspec.convert(found or {}, _Token)
    except (ValueError, msgspec.ValidationError) as error:
        raise _bad_token(str(error)) from error
    if token.v != META_V1:
        raise _bad_token(f"server does not recognize this encoded version {token.v}")
    if not token.rv:
        raise _bad_token(f"incorrect encoded start resourceVersion (version {META_V1})")
    if not token.start:
        raise _bad_token(f"encoded start key empty (version {META_V1})")
    if any(part in ("", ".", "..") for part in token.start.removeprefix("/").split("/")):
        raise _bad_token(token.start)
    return token


def _bad_token(fault: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid: {fault}")
