"""Who added a taint, when, why, and until when: the records of a node, kept in one annotation as JSON.

    doorman.dev/taints: [{"key":"gpu","effect":"NoSchedule","added":"2026-01-01T00:00:00Z","user":"ann",
                          "manager":"kubectl-taint","reason":"new driver","expires":"2026-01-01T02:00:00Z"}]

Rules
-----
1. Every taint of a node has one record, in the order of the taints; a record without a taint goes.
2. A taint is the same as before when key, effect and value are. A new one, or one of another value, is added now, by
   whoever writes.
3. When and who are the server's: what a client writes there is not looked at.
4. Reason and expiry are anybody's who may write the node. An entry in the annotation replaces both; a taint without an
   entry keeps what it had.
5. An expiry is an instant (`expires`), or a span from now (`for`: `90s`, `2h`), which becomes an instant. Not both.
6. A taint has expired from its instant on.
7. A taint that does not say itself when it was added was added when its record says.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from doorman.api.taints import Taint
from doorman.base.clock import Instant
from doorman.base.durations import parse_duration
from doorman.base.instants import from_time, to_time

ANNOTATION: Final = "doorman.dev/taints"
REASON_LENGTH_MAX: Final = 1024


class TaintRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One taint's story. `user` and `manager` are empty for a taint older than the records."""

    key: str
    value: str = ""
    effect: str = ""
    added: str = ""
    user: str = ""
    manager: str = ""
    reason: str = ""
    expires: str = ""

    @property
    def identity(self) -> tuple[str, str, str]:
        return (self.key, self.value, self.effect)


_decode_records: Final = msgspec.json.Decoder(tuple[TaintRecord, ...]).decode


class RecordsError(ValueError):
    """The annotation is not what rule 5 and the shape of a record ask for."""


class _Wish(msgspec.Struct, frozen=True, kw_only=True, rename={"span": "for"}):
    """An entry as a client may write it."""

    key: str
    value: str | None = None
    effect: str = ""
    reason: str = ""
    expires: str = ""
    span: str = ""


def read_records(text: str | None) -> tuple[TaintRecord, ...]:
    """The records as the server has written them; none when the annotation is missing or was never its own."""
    try:
        return _decode_records(text) if text else ()
    except msgspec.DecodeError:
        return ()


def decide_records(
    taints: Iterable[Taint],
    before: Sequence[Taint],
    *,
    written: str,
    known: str,
    user: str,
    manager: str,
    now: Instant,
) -> tuple[TaintRecord, ...]:
    """Rules 1 to 5. `written` and `known` are the annotation as the request and as the store has it.

    >>> new = Taint(key="gpu", effect="NoSchedule")
    >>> wish = '[{"key":"gpu","reason":"new driver","for":"2h"}]'
    >>> decide_records([new], [], written=wish, known="", user="ann", manager="kubectl", now=0.0)[0].expires
    '1970-01-01T02:00:00Z'
    """
    wishes = _read_wishes(written) if written != known else ()
    old = {record.identity: record for record in read_records(known)}
    stood = {(taint.key, taint.value, taint.effect) for taint in before}
    records = []
    for taint in taints:
        identity = (taint.key, taint.value, taint.effect)
        if identity in stood:
            record = old.get(identity) or _record(taint, added=taint.time_added)
        else:
            record = _record(taint, added=to_time(now), user=user, manager=manager)
        wish = next((wish for wish in wishes if _is_meant(wish, taint)), None)
        if wish is not None:
            record = msgspec.structs.replace(record, reason=wish.reason, expires=_expiry(wish, now))
        records.append(record)
    return tuple(records)


def to_annotation(records: Sequence[TaintRecord]) -> str:
    return msgspec.json.encode(records).decode()


def expired_taints(taints: Iterable[Taint], records: Iterable[TaintRecord], now: Instant) -> tuple[Taint, ...]:
    """Rule 6."""
    gone = {record.identity for record in records if (expiry := expiry_or_none(record)) is not None and expiry <= now}
    return tuple(taint for taint in taints if (taint.key, taint.value, taint.effect) in gone)


def dated_taints(taints: Iterable[Taint], records: Iterable[TaintRecord]) -> tuple[Taint, ...]:
    """Rule 7."""
    added = {record.identity: record.added for record in records}
    return tuple(
        taint
        if taint.time_added
        else msgspec.structs.replace(taint, time_added=added.get((taint.key, taint.value, taint.effect), ""))
        for taint in taints
    )


def next_expiry_or_none(records: Iterable[TaintRecord]) -> Instant | None:
    return min((expiry for record in records if (expiry := expiry_or_none(record)) is not None), default=None)


def expiry_or_none(record: TaintRecord) -> Instant | None:
    """None also for a text that only a server without this rule can have let in."""
    try:
        return from_time(record.expires) if record.expires else None
    except ValueError:
        return None


def wish_annotation(known: str | None, taints: Iterable[Taint], *, reason: str, span: str) -> str:
    """The annotation that asks for a reason and a span for these taints and leaves all others as they are."""
    chosen = {(taint.key, taint.effect) for taint in taints}
    wishes: list[dict[str, Any]] = [
        msgspec.to_builtins(record) for record in read_records(known) if (record.key, record.effect) not in chosen
    ]
    for key, effect in sorted(chosen):
        wish = {"key": key, "effect": effect, "reason": reason, "for": span}
        wishes.append({name: value for name, value in wish.items() if value})
    return msgspec.json.encode(wishes).decode()


def _read_wishes(text: str) -> tuple[_Wish, ...]:
    try:
        return msgspec.json.decode(text or "[]", type=tuple[_Wish, ...])
    except msgspec.DecodeError as error:
        raise RecordsError(str(error)) from error


def _is_meant(wish: _Wish, taint: Taint) -> bool:
    """An entry may leave out the effect, the value, or both."""
    return (
        wish.key == taint.key
        and wish.effect in ("", taint.effect)
        and (wish.value is None or wish.value == taint.value)
    )


def _expiry(wish: _Wish, now: Instant) -> str:
    if len(wish.reason) > REASON_LENGTH_MAX:
        raise RecordsError(f"a reason may have at most {REASON_LENGTH_MAX} characters")
    if wish.span and wish.expires:
        raise RecordsError('"for" and "expires" exclude each other')
    try:
        if wish.expires:
            return to_time(from_time(wish.expires))
        if not wish.span:
            return ""
        seconds = parse_duration(wish.span)
        if seconds <= 0:
            raise RecordsError(f'"for" must be more than nothing: {wish.span}')
        return to_time(now + seconds)
    except (ValueError, OverflowError) as error:
        raise RecordsError(str(error)) from error


def _record(taint: Taint, *, added: str, user: str = "", manager: str = "") -> TaintRecord:
    return TaintRecord(key=taint.key, value=taint.value, effect=taint.effect, added=added, user=user, manager=manager)
