"""`/healthz`, `/livez`, `/readyz`: plain text, as probes and kubectl read it."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from doorman.base.reader_faults import ReaderFaults, SetAside
from doorman.server.request import Request, Response

HealthCheck = Callable[[], bool | Awaitable[bool]]


class HealthChecks:
    def __init__(
        self, checks: Mapping[str, HealthCheck], faults: ReaderFaults | None = None, *, ready_only: Collection[str] = ()
    ) -> None:
        """`ready_only`: checks that say whether it is ready, and not whether it lives."""
        self._checks = dict(checks)
        self._faults = faults or ReaderFaults()
        self._ready_only = frozenset(ready_only)

    async def answer(self, request: Request, *, names_objects: bool = False) -> Response | None:
        """`names_objects`: whether who asks may know what objects are called."""
        root, _, name = request.path[1:].partition("/")
        if request.path == f"/{root}/" or root not in ("healthz", "livez", "readyz"):
            return None
        checks = {
            name: check for name, check in self._checks.items() if root == "readyz" or name not in self._ready_only
        }
        if name:
            if name not in checks:
                return None
            is_well = await _is_well(checks[name])
            return _text("ok" if is_well else "failed", is_well, is_marked=not is_well)
        excluded = request.query.all("exclude")
        lines = []
        is_well = True
        for check_name, check in checks.items():
            if check_name in excluded:
                lines.append(f"[+]{check_name} excluded: ok")
            elif await _is_well(check):
                lines.append(f"[+]{check_name} ok")
            else:
                is_well = False
                lines.append(f"[-]{check_name} failed: reason withheld")
        unknown = [name for name in excluded if name not in checks]
        if unknown:
            named = ", ".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {named}")
        if is_well and not request.query.has("verbose"):
            return _text("ok", is_well)
        lines += _warnings(self._faults.set_aside, names_objects=names_objects)
        lines.append(f"{root} check {'passed' if is_well else 'failed'}")
        return _text("\n".join(lines) + "\n", is_well)


async def _is_well(check: HealthCheck) -> bool:
    found = check()
    return found if isinstance(found, bool) else await found


def _warnings(aside: Sequence[SetAside], *, names_objects: bool) -> list[str]:
    """What was set aside keeps nobody from serving the rest."""
    if names_objects:
        return [f"warn: {one.key} at revision {one.revision} is set aside ({one.reader})" for one in aside]
    return [f"warn: {len(aside)} stored objects are set aside"] if aside else []


def _text(body: str, is_well: bool, *, is_marked: bool = True) -> Response:
    """`is_marked`: no browser is to guess what it is."""
    return Response(
        status=200 if is_well else 500,
        content_type="text/plain; charset=utf-8",
        headers=[("X-Content-Type-Options", "nosniff")] if is_marked else [],
        body=body.encode(),
    )
