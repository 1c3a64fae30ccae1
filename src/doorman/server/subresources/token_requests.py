"""`serviceaccounts/token`: a token for a service account, for so long, bound to this or that."""

from typing import Final

from doorman.api.well_known import AUTHENTICATION_GROUP
from doorman.base.clock import Clock
from doorman.base.errors import ApiError, FieldError, GroupResource, bad_request, conflict, invalid, invalid_object
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.caller import Caller
from doorman.registry.object_identity import check_namespace
from doorman.registry.registry import Registry
from doorman.registry.write_target import WriteTarget
from doorman.server.auth.service_account_tokens import ServiceAccountTokens

SECONDS_DEFAULT: Final = 3600
SECONDS_MIN: Final = 600
SECONDS_MAX: Final = 1 << 32
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}

BoundObjects = dict[str, tuple[str, str]]


_ATTESTED: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


class TokenRequests:
    def __init__(self, registry: Registry, tokens: ServiceAccountTokens, clock: Clock) -> None:
        self._registry = registry
        self._tokens = tokens
        self._clock = clock

    async def answer(self, namespace: str, name: str, request: Document, caller: Caller) -> Document:
        metadata = request.get("metadata") or {}
        if metadata.get("name", name) != name:
            errors = [invalid("metadata.name", metadata["name"], "must match the service account name if specified")]
            raise invalid_object("TokenRequest", AUTHENTICATION_GROUP, name, errors)
        check_namespace(metadata, namespace)
        accounts = self._registry.kinds.named("serviceaccounts")
        # A kubelet gets tokens for the pods it runs and no others: admission knows.
        await self._registry.proposer.admit(WriteTarget(accounts, namespace, name, "token"), request, caller)
        account = self._registry.get(accounts, namespace, name).view.metadata
        spec = request.get("spec") or {}
        given = spec.get("expirationSeconds")
        seconds = SECONDS_DEFAULT if given is None else given
        errors = _errors(seconds)
        if spec.get("attestations") and (spec.get("boundObjectRef") or {}).get("kind") not in _ATTESTED:
            text = "attestations may only be specified with a webhook bound object reference"
            errors.append(invalid("spec.attestations", spec["attestations"], text))
        if errors:
            raise invalid_object("TokenRequest", AUTHENTICATION_GROUP, "", errors)
        bound_ref = spec.get("boundObjectRef")
        bound = self._bound(namespace, name, bound_ref) if bound_ref is not None else {}
        audiences = spec.get("audiences") or list(self._tokens.audiences)
        token = self._tokens.issue(namespace, name, account.uid, audiences=audiences, seconds=seconds, bound=bound)
        now = self._clock.now()
        return {
            "kind": "TokenRequest",
            "apiVersion": f"{AUTHENTICATION_GROUP}/v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": account.uid,
                "creationTimestamp": to_time(now),
            },
            "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound_ref},
            "status": {"token": token, "expirationTimestamp": to_time(int(now) + seconds)},
        }

    def _bound(self, namespace: str, account: str, ref: Document) -> BoundObjects:
        kind, name, uid = ref.get("kind", ""), ref.get("name", ""), ref.get("uid", "")
        resource = _BINDABLE.get(kind)
        if resource is None or ref.get("apiVersion", "v1") != "v1":
            group, _, version = ref.get("apiVersion", "").rpartition("/")
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        if not name:
            raise bad_request("Name parameter required.")
        found = self._registry.get(self._registry.kinds.named(resource), namespace, name).view
        if uid and uid != found.metadata.uid:
            raise _recreated(kind, name, uid)
        bound = {kind.lower(): (name, found.metadata.uid)}
        if kind == "Pod":
            if found.spec.service_account_name != account:
                why = "to pod running with different serviceaccount name."
                raise bad_request(f'cannot bind token for serviceaccount "{account}" {why}')
            node = self._registry.cache.collection("nodes").get(found.spec.node_name)
            if found.spec.node_name:
                bound["node"] = (found.spec.node_name, node.view.metadata.uid if node is not None else "")
        return bound


def _errors(seconds: int) -> list[FieldError]:
    if seconds < SECONDS_MIN:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")]
    if seconds > SECONDS_MAX:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _recreated(kind: str, name: str, uid: str) -> ApiError:
    why = (
        f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        "The object might have been deleted and then recreated"
    )
    return conflict(GroupResource("", kind), name, why)
