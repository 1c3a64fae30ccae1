"""`--check-access`: which rights a component needs and does not have, asked of the API server before it starts.

Needed is what it reads, and what the roles say that Kubernetes has for it by default: those a real cluster has already.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from doorman.api.views.access.rbac import PolicyRule
from doorman.api.well_known import LEASES
from doorman.attached.component_settings import ElectionSettings
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_informers import HttpInformers

PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_NEVER_USED: Final = frozenset({"extensions"})
"""Groups that roles name for servers of the past."""
_UNUSED: Final = frozenset({"leasecandidates", "tokenreviews", "subjectaccessreviews"})
"""What roles name that Doorman's components do not ask for, or only where a flag says so."""


class Right(msgspec.Struct, frozen=True, order=True):
    group: str
    resource: str
    """With its subresource, if any: `pods/status`."""
    verb: str
    name: str = ""
    namespace: str = ""

    def attributes(self) -> dict[str, str]:
        resource, _, subresource = self.resource.partition("/")
        found = {
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "verb": self.verb,
            "name": self.name,
            "namespace": self.namespace,
        }
        return {member: value for member, value in found.items() if value}

    @property
    def place(self) -> str:
        """What it is a right on.

        >>> Right("apps", "daemonsets/status", "update").place
        'daemonsets/status.apps'
        """
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f'{what} "{self.name}"' if self.name else what
        return f"{named} in {self.namespace}" if self.namespace else named


class Needed(msgspec.Struct, frozen=True):
    """What one user needs, asked as that user."""

    who: str
    requests: ApiRequests
    rights: tuple[Right, ...]


def rights_of_rules(rules: Iterable[PolicyRule]) -> Iterator[Right]:
    for rule in rules:
        for group in rule.api_groups:
            for resource in rule.resources:
                if group in _NEVER_USED or resource in _UNUSED:
                    continue
                for verb in rule.verbs:
                    for name in rule.resource_names or ("",):
                        yield Right(group, resource, verb, name)


def rights_of_informers(informers: HttpInformers, left_out: Sequence[str] = ()) -> Iterator[Right]:
    for informer in informers.all():
        if informer.resource not in left_out:
            resource, _, group = informer.resource.partition(".")
            yield from (Right(group, resource, verb) for verb in ("list", "watch"))


def rights_of_election(election: ElectionSettings) -> Iterator[Right]:
    if election.is_on:
        resource, _, group = LEASES.partition(".")
        yield Right(group, resource, "create", "", election.namespace)
        yield from (Right(group, resource, verb, election.name, election.namespace) for verb in ("get", "update"))


def in_order(rights: Iterable[Right]) -> tuple[Right, ...]:
    return tuple(sorted(set(rights)))


async def missing_rights_of(needed: Needed) -> list[Right]:
    """Raises `ApiError`, `Disconnected`."""
    answers = await asyncio.gather(*(_is_allowed(needed.requests, right) for right in needed.rights))
    return [right for right, is_allowed in zip(needed.rights, answers, strict=True) if not is_allowed]


async def _is_allowed(requests: ApiRequests, right: Right) -> bool:
    spec = {"resourceAttributes": right.attributes()}
    body = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": spec}
    answer = await requests.document("POST", PATH, body=msgspec.json.encode(body))
    return bool((answer.get("status") or {}).get("allowed"))


def in_words(who: str, missing: Sequence[Right]) -> Iterator[str]:
    """A line for what rights are missing on, with their verbs.

    >>> list(in_words("user", [Right("", "pods", "list"), Right("", "pods", "watch"), Right("", "nodes", "get")]))
    ['user: verbs ["list","watch"] on pods', 'user: verbs ["get"] on nodes']
    """
    verbs: dict[str, list[str]] = {}
    for right in missing:
        verbs.setdefault(right.place, []).append(f'"{right.verb}"')
    for place, found in verbs.items():
        yield f"{who}: verbs [{','.join(found)}] on {place}"
