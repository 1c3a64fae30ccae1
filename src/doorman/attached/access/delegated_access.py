"""Who may see a component's metrics: the API server is asked who a token is, and what they may."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.identity import ANONYMOUS
from doorman.base.clock import Clock
from doorman.base.errors import ApiError
from doorman.client.http.api_requests import ApiRequests

REMEMBERED_SECONDS: Final = 10.0
REMEMBERED_MAX: Final = 1024


class Asker(msgspec.Struct, frozen=True):
    name: str = ANONYMOUS.name
    groups: tuple[str, ...] = ANONYMOUS.groups


class DelegatedAccess:
    def __init__(self, requests: ApiRequests | None, always_allowed: Sequence[str], clock: Clock) -> None:
        """None: nobody is asked, and only what everybody may see is shown."""
        self._requests = requests
        self._clock = clock
        self._always_allowed = tuple(always_allowed)
        self._remembered: dict[tuple[str, ...], tuple[float, Any]] = {}

    async def code_for(self, path: str, token: str, certified: Asker | None) -> tuple[int, str]:
        """200, or what to answer instead and why."""
        if any(path == one or path.startswith(f"{one}/") for one in self._always_allowed):
            return 200, ""
        asker = certified or (await self._asker(token) if token else Asker())
        if asker is None:
            return 401, "Unauthorized"
        if self._requests is not None and await self._may(asker, path):
            return 200, ""
        return 403, f'forbidden: User "{asker.name}" cannot get path "{path}"'

    async def _asker(self, token: str) -> Asker | None:
        review = await self._review("authentication.k8s.io", "TokenReview", {"token": token}, ("token", token))
        if not review.get("authenticated"):
            return None
        user = review.get("user") or {}
        return Asker(str(user.get("username") or ""), tuple(user.get("groups") or ()))

    async def _may(self, asker: Asker, path: str) -> bool:
        spec = {
            "user": asker.name,
            "groups": list(asker.groups),
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        key = ("path", path, asker.name, *asker.groups)
        review = await self._review("authorization.k8s.io", "SubjectAccessReview", spec, key)
        return bool(review.get("allowed"))

    async def _review(self, group: str, kind: str, spec: Mapping[str, Any], key: tuple[str, ...]) -> Mapping[str, Any]:
        """The status of a review, remembered for a while; empty when nobody answers."""
        if self._requests is None:
            return {}
        now = self._clock.now()
        known = self._remembered.get(key)
        if known is not None and known[0] > now:
            return known[1]  # type: ignore[no-any-return]
        body = msgspec.json.encode({"kind": kind, "apiVersion": f"{group}/v1", "spec": spec})
        try:
            answer = await self._requests.document("POST", f"/apis/{group}/v1/{kind.lower()}s", body=body)
        except ApiError:
            return {}
        if len(self._remembered) >= REMEMBERED_MAX:
            self._remembered.clear()
        status: Mapping[str, Any] = answer.get("status") or {}
        self._remembered[key] = (now + REMEMBERED_SECONDS, status)
        return status
