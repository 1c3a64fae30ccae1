"""The clock over the API: `GET /doorman/clock` reads it, `POST` moves it.

    {"advance": "5m"}                   so much further
    {"advanceTo": "2026-01-01T00:05:00.000000Z"}
    {"runUntilIdle": true, "quiet": "10m", "limit": "24h"}

A move that takes long by the machine's clock is cut: the answer says `"isDone": false` and how far it should go, and
the client asks for the rest. So every request is answered in time, and progress can be shown.
"""

from typing import Any, Final

import msgspec

from doorman.base.clock import Clock, Instant
from doorman.base.durations import parse_duration
from doorman.base.errors import ApiError, bad_request, method_not_allowed
from doorman.base.instants import from_time, to_micro_time
from doorman.runtime.clock.clock_driver import ClockDriver
from doorman.runtime.clock.movable_clock import MovableClock
from doorman.runtime.clock.quiet_time import QUIET_SECONDS, QuietTime
from doorman.server.request import Request, Response, json_response

REQUEST_SECONDS: Final = 5.0
"""Of real time in which a move is cut."""
LIMIT_SECONDS: Final = 86_400.0
SPAN_SECONDS_MAX: Final = 100 * 365 * 86_400.0


class ClockMove(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a request may ask for: one of the three."""

    advance: str = ""
    advance_to: str = ""
    run_until_idle: bool = False
    quiet: str = ""
    limit: str = ""


class ClockService:
    def __init__(self, clock: Clock, driver: ClockDriver | None = None, quiet: QuietTime | None = None) -> None:
        """Without a driver the clock is the machine's, and nobody moves it."""
        self._clock = clock
        self._driver = driver
        self._quiet = quiet

    async def answer(self, request: Request) -> Response:
        """Raises ApiError."""
        if request.method in ("GET", "HEAD"):
            return json_response(self._shown())
        if request.method != "POST":
            raise method_not_allowed()
        if self._driver is None or self._quiet is None:
            raise ApiError(409, "Conflict", "the clock of this server is the machine's: it was started without --clock")
        move = _read(request.body)
        if move.run_until_idle:
            return json_response(await self._until_idle(self._driver, self._quiet, move))
        if move.advance:
            target = self._clock.now() + _span(move.advance, "advance")
        else:
            target = _instant(move.advance_to)
        return json_response(await self._advance(self._driver, target))

    async def _advance(self, driver: ClockDriver, target: Instant) -> dict[str, Any]:
        is_done = await driver.move_to(target, real_seconds_max=REQUEST_SECONDS)
        return {**self._shown(), "target": to_micro_time(target), "isDone": is_done}

    async def _until_idle(self, driver: ClockDriver, quiet: QuietTime, move: ClockMove) -> dict[str, Any]:
        seconds = _span(move.quiet, "quiet") if move.quiet else QUIET_SECONDS
        if move.advance_to:
            limit = _instant(move.advance_to)
        else:
            limit = self._clock.now() + (_span(move.limit, "limit") if move.limit else LIMIT_SECONDS)
        is_idle = await driver.move_until(lambda: quiet.is_idle(seconds), limit, real_seconds_max=REQUEST_SECONDS)
        is_done = is_idle or self._clock.now() >= limit
        told = {"target": to_micro_time(limit), "isDone": is_done, "isIdle": is_idle}
        return {**self._shown(), **told, "changedAt": to_micro_time(quiet.changed_at)}

    def _shown(self) -> dict[str, Any]:
        mode, rate = "real", 1.0
        if isinstance(self._clock, MovableClock):
            mode, rate = "virtual", self._clock.rate
        now = to_micro_time(self._clock.now())
        return {"kind": "Clock", "apiVersion": "doorman.dev/v1", "mode": mode, "rate": rate, "now": now}


def _read(body: bytes) -> ClockMove:
    try:
        move = msgspec.json.decode(body, type=ClockMove)
    except (msgspec.MsgspecError, ValueError) as error:
        raise bad_request(f"the body is no move of a clock: {error}") from error
    if not (move.advance or move.advance_to or move.run_until_idle):
        raise bad_request("want advance, advanceTo or runUntilIdle")
    return move


def _span(text: str, name: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise bad_request(f"{name}: {error}") from error
    if not 0 < seconds <= SPAN_SECONDS_MAX:
        raise bad_request(f"{name}: want more than nothing and at most a hundred years: {text}")
    return seconds


def _instant(text: str) -> Instant:
    try:
        return from_time(text)
    except ValueError as error:
        raise bad_request(f"advanceTo: {error}") from error
