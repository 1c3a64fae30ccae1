"""Service account tokens: JSON web tokens signed by the server, bound to what must still be there to use them."""

import base64
import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import jwt
import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from doorman.api.identity import AUTHENTICATED, User
from doorman.base.clock import Clock
from doorman.base.generated_names import NameGenerator
from doorman.base.instants import from_time
from doorman.registry.cache.watch_cache import WatchCache
from doorman.server.auth.impersonation import account_groups

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
ALGORITHM: Final = "ES256"
LEEWAY_SECONDS: Final = 60
"""How far `nbf` may lie ahead: clocks differ."""
VERIFIED_MAX: Final = 10_000
TOKEN_CHARS_MAX: Final = 16_384

_EXTRA: Final = "authentication.kubernetes.io/"
_BOUND: Final = (("pod", "pods"), ("secret", "secrets"), ("node", "nodes"))


class _Ref(msgspec.Struct, frozen=True):
    name: str
    uid: str


class _Private(msgspec.Struct, frozen=True):
    namespace: str
    serviceaccount: _Ref
    pod: _Ref | None = None
    secret: _Ref | None = None
    node: _Ref | None = None


class _Claims(msgspec.Struct, frozen=True):
    iss: str
    sub: str
    aud: tuple[str, ...]
    exp: int
    nbf: int
    kubernetes: _Private = msgspec.field(name="kubernetes.io")
    jti: str = ""


class TokenClaims(msgspec.Struct, frozen=True, kw_only=True):
    """Who a token speaks for, and to whom."""

    user: User
    audiences: tuple[str, ...]


class ServiceAccountTokens:
    """Issues tokens and says whom one belongs to. A signature is checked once a token; the rest at each use."""

    def __init__(self, key: bytes, cache: WatchCache, clock: Clock, names: NameGenerator) -> None:
        private = serialization.load_pem_private_key(key, None)
        assert isinstance(private, ec.EllipticCurvePrivateKey), "tokens are signed with ES256"
        self._private = private
        self._public = private.public_key()
        encoded = self._public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.key_id = hashlib.sha256(encoded).hexdigest()[:43]
        self._cache = cache
        self._clock = clock
        self._names = names
        self.audiences = (ISSUER,)
        self._verified: OrderedDict[str, _Claims] = OrderedDict()

    @property
    def public_jwk(self) -> dict[str, str]:
        """The key that checks signatures, as a JSON web key."""
        numbers = self._public.public_numbers()
        x, y = (
            base64.urlsafe_b64encode(number.to_bytes(32, "big")).decode().rstrip("=")
            for number in (numbers.x, numbers.y)
        )
        return {"use": "sig", "kty": "EC", "kid": self.key_id, "crv": "P-256", "alg": ALGORITHM, "x": x, "y": y}

    def issue(
        self,
        namespace: str,
        name: str,
        uid: str,
        *,
        audiences: Sequence[str],
        seconds: int,
        bound: Mapping[str, tuple[str, str]],
    ) -> str:
        """`bound` names the pod, secret or node (name, uid) without which the token is worth nothing."""
        now = int(self._clock.now())
        private: dict[str, Any] = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}  # JSON
        private |= {kind: {"name": ref[0], "uid": ref[1]} for kind, ref in bound.items()}
        claims = {
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": self._names.uid(),
            "kubernetes.io": private,
            "nbf": now,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        return jwt.encode(claims, self._private, algorithm=ALGORITHM, headers={"kid": self.key_id})

    def whose(self, token: str) -> TokenClaims | None:
        """None: forged, expired, not for this server's service accounts, or bound to something that is gone."""
        claims = self._claims(token)
        now = self._clock.now()
        if claims is None or now >= claims.exp or now + LEEWAY_SECONDS < claims.nbf:
            return None
        private = claims.kubernetes
        account = private.serviceaccount
        if claims.sub != f"system:serviceaccount:{private.namespace}:{account.name}":
            return None
        if not self._is_there("serviceaccounts", f"{private.namespace}/{account.name}", account.uid):
            return None
        extra: dict[str, tuple[str, ...]] = {}
        for kind, resource in _BOUND:
            ref: _Ref | None = getattr(private, kind)
            if ref is None:
                continue
            # The node of a bound pod is told, not asked for: pods outlive their nodes' objects.
            is_only_told = kind == "node" and private.pod is not None
            key = ref.name if kind == "node" else f"{private.namespace}/{ref.name}"
            if not is_only_told and not self._is_there(resource, key, ref.uid):
                return None
            if kind != "secret":
                extra[f"{_EXTRA}{kind}-name"] = (ref.name,)
                extra[f"{_EXTRA}{kind}-uid"] = (ref.uid,)
        if claims.jti:
            extra[f"{_EXTRA}credential-id"] = (f"JTI={claims.jti}",)
        user = User(name=claims.sub, uid=account.uid, groups=(*account_groups(claims.sub), AUTHENTICATED), extra=extra)
        return TokenClaims(user=user, audiences=claims.aud)

    def _claims(self, token: str) -> _Claims | None:
        if len(token) > TOKEN_CHARS_MAX or token.count(".") != 2:
            return None
        known = self._verified.get(token)
        if known is not None:
            self._verified.move_to_end(token)
            return known
        try:
            # Times are checked by our own clock, at each use; the algorithm is never the token's to choose.
            decoded = jwt.decode(
                token,
                self._public,
                algorithms=[ALGORITHM],
                issuer=ISSUER,
                options={
                    "verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False,
                    "require": ["exp", "iss", "sub"],
                },
            )  # fmt: skip
            claims = msgspec.convert(decoded, _Claims)
        except (jwt.PyJWTError, msgspec.ValidationError, ValueError):
            return None
        self._verified[token] = claims
        if len(self._verified) > VERIFIED_MAX:
            self._verified.popitem(last=False)
        return claims

    def _is_there(self, resource: str, key: str, uid: str) -> bool:
        found = self._cache.collection(resource).get(key)
        if found is None:
            return False
        metadata = found.view.metadata
        return hmac.compare_digest(str(metadata.uid), uid) and not _is_long_gone(
            metadata.deletion_timestamp, self._clock
        )


def _is_long_gone(deletion_timestamp: str, clock: Clock) -> bool:
    """Objects that wait for a finalizer keep their tokens for a minute after the instant of their deletion."""
    if not deletion_timestamp:
        return False
    return clock.now() > from_time(deletion_timestamp) + LEEWAY_SECONDS
