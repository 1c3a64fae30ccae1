"""Bootstrap tokens: `id.secret`, kept in a secret of kube-system, for nodes that have no certificate yet."""

import base64
import binascii
import hmac
import re
from collections.abc import Sequence
from typing import Final

from doorman.api.identity import AUTHENTICATED, User
from doorman.api.views.core import Secret
from doorman.api.well_known import SYSTEM_NAMESPACE
from doorman.base.clock import Clock
from doorman.base.instants import from_time
from doorman.registry.cache.watch_cache import WatchCache
from doorman.server.auth.service_account_tokens import TokenClaims

TYPE: Final = "bootstrap.kubernetes.io/token"
GROUP: Final = "system:bootstrappers"
_TOKEN: Final = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})", re.ASCII)
_EXTRA_GROUP: Final = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]", re.ASCII)


class BootstrapTokens:
    def __init__(self, cache: WatchCache, clock: Clock, *, audiences: Sequence[str]) -> None:
        self._cache = cache
        self._clock = clock
        self._audiences = tuple(audiences)

    def whose(self, token: str) -> TokenClaims | None:
        found = _TOKEN.fullmatch(token)
        if found is None:
            return None
        stored = self._cache.collection("secrets").get(f"{SYSTEM_NAMESPACE}/bootstrap-token-{found[1]}")
        if stored is None:
            return None
        groups = self._groups(stored.view, found[1], found[2])
        if groups is None:
            return None
        user = User(name=f"system:bootstrap:{found[1]}", groups=(GROUP, *groups, AUTHENTICATED))
        return TokenClaims(user=user, audiences=self._audiences)

    def _groups(self, secret: Secret, token_id: str, token_secret: str) -> tuple[str, ...] | None:
        """Further groups of the token's user; None when the token is not good."""
        if secret.type != TYPE or secret.metadata.deletion_timestamp:
            return None
        if _text(secret, "token-id") != token_id:
            return None
        if not hmac.compare_digest(_text(secret, "token-secret").encode(), token_secret.encode()):
            return None
        if _text(secret, "usage-bootstrap-authentication") != "true" or self._is_over(_text(secret, "expiration")):
            return None
        groups = tuple(dict.fromkeys(part for part in _text(secret, "auth-extra-groups").split(",") if part))
        if not all(_EXTRA_GROUP.fullmatch(group) for group in groups):
            return None
        return tuple(sorted(groups))

    def _is_over(self, expiration: str) -> bool:
        if not expiration:
            return False
        try:
            return self._clock.now() >= from_time(expiration)
        except ValueError:
            return True


def _text(secret: Secret, name: str) -> str:
    try:
        return base64.b64decode(secret.data.get(name, "")).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
