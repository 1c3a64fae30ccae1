"""Admission webhooks: who is asked, in which order, and what becomes of the answers.

Rules
-----
1. Configurations go by name, their webhooks in the order written. Mutating ones are asked one after the other, each
   with what the one before made of the object; validating ones all at once, and the first refusal in order counts.
2. Match conditions must all be true. One that is false passes the webhook over; one that fails without another being
   false is a failure.
3. A webhook that has side effects refuses a dry run.
4. A failure (no connection, too late, a bad answer) refuses the request under failurePolicy Fail and is passed over
   under Ignore. It takes no longer than timeoutSeconds.
5. Mutating policies go first: they are no webhooks, but what they make of an object is looked at again like what
   webhooks make of it.
6. When a later webhook changed the object, one with reinvocationPolicy IfNeeded that was asked before is asked again,
   once.

Nothing here opens a connection: that is the `Post` it is given.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from operator import attrgetter
from typing import Final, Protocol

from doorman.admission.admission_review import AdmissionResponse, BadAnswer, patched, review_of, verdict_of
from doorman.admission.plugin_contract import Attributes, ClusterReader, VersionedResource
from doorman.admission.policies.mutating_policies import PLUGIN as POLICY_PLUGIN
from doorman.admission.policies.mutating_policies import Bound, MutatingPolicies
from doorman.admission.policies.policy_variables import AuthorizerLookup, conditions_hold, names_of, nobody_may
from doorman.admission.request_versions import versioned_attributes_async
from doorman.admission.rule_matching import is_hidden, matched_resource, selectors_match
from doorman.api.views.admissionregistration import MUTATING, VALIDATING, ClientConfig, Webhook, WebhookConfiguration
from doorman.api.views.meta import to_view
from doorman.base.errors import ApiError, bad_request, internal
from doorman.base.json_types import Document
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.cost_budget import CostBudget

MUTATING_PLUGIN: Final = "MutatingAdmissionWebhook"
VALIDATING_PLUGIN: Final = "ValidatingAdmissionWebhook"
TIMEOUT_SECONDS_MAX: Final = 30
_WITHOUT_SIDE_EFFECTS: Final = frozenset({"None", "NoneOnDryRun"})

_last_change: Final = attrgetter("last_change")


class Unanswered(Exception):
    """No answer came: no connection, no such service, too late, or a status that is none of success."""


Post = Callable[[ClientConfig, Document, int], Awaitable[bytes]]
"""Sends a review to where the configuration says, within so many seconds. Raises Unanswered."""


class Changing(Protocol):
    @property
    def last_change(self) -> int: ...


class Webhooks:
    """Keeps the webhooks and mutating policies of one version of all configurations, read again when one has changed.

    `sources` are the collections they are in.
    """

    def __init__(
        self,
        sources: Sequence[Changing],
        post: Post,
        uid: Callable[[], str],
        *,
        disabled: Sequence[str] = (),
        authorize: AuthorizerLookup = nobody_may,
        policies: MutatingPolicies | None = None,
    ) -> None:
        self._sources = tuple(sources)
        self._policies = policies if POLICY_PLUGIN not in disabled else None
        self._post = post
        self._uid = uid
        self._disabled = frozenset(disabled)
        self._authorize = authorize
        self._seen: list[int] = []
        self._bound: tuple[Bound, ...] = ()
        self._mutating: tuple[Webhook, ...] = ()
        self._validating: tuple[Webhook, ...] = ()

    def is_wanted(self, attributes: Attributes, cluster: ClusterReader) -> bool:
        """Whether there is anybody to ask at all: what every write pays for."""
        return not self.is_idle(cluster) and not is_hidden(attributes)

    def is_idle(self, cluster: ClusterReader) -> bool:
        """Whether there is nobody to ask about anything."""
        seen = list(map(_last_change, self._sources))
        if seen != self._seen:
            self._mutating = () if MUTATING_PLUGIN in self._disabled else _webhooks(cluster, MUTATING)
            self._validating = () if VALIDATING_PLUGIN in self._disabled else _webhooks(cluster, VALIDATING)
            self._bound = self._policies.read(cluster) if self._policies is not None else ()
            self._seen = seen
        return not (self._mutating or self._validating or self._bound)

    async def mutate(self, attributes: Attributes, cluster: ClusterReader) -> bool:
        """Change `attributes.obj` in place; whether anybody did. Raises the first refusal."""
        is_changed = self._policies is not None and await self._policies.mutate(self._bound, attributes, cluster)
        asked: list[tuple[int, Webhook, VersionedResource]] = []
        last_change = -1
        for index, hook in enumerate(self._mutating):
            seen = await self._seen_by(hook, attributes, cluster)
            if seen is None:
                continue
            asked.append((index, hook, seen.versioned_resource))
            if await self._mutate(hook, attributes, seen):
                last_change = index
        for index, hook, target in asked:
            if index < last_change and hook.reinvocation_policy == "IfNeeded":
                await self._mutate(hook, attributes, await versioned_attributes_async(attributes, target))
        return is_changed or last_change >= 0

    async def validate(self, attributes: Attributes, cluster: ClusterReader) -> None:
        questions = []
        for hook in self._validating:
            seen = await self._seen_by(hook, attributes, cluster)
            if seen is not None:
                questions.append((hook, seen))
        if not questions:
            return
        answers = await asyncio.gather(*(self._ask(hook, seen) for hook, seen in questions), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            if answer.refusal is not None:
                raise answer.refusal

    async def _seen_by(self, hook: Webhook, attributes: Attributes, cluster: ClusterReader) -> Attributes | None:
        """The request as the webhook sees it; None when it does not want to."""
        target = matched_resource(hook.rules, attributes, hook.match_policy)
        if target is None or not selectors_match(hook.namespace_selector, hook.object_selector, attributes, cluster):
            return None
        seen = await versioned_attributes_async(attributes, target)
        return seen if _conditions_hold(hook, seen, self._authorize) else None

    async def _mutate(self, hook: Webhook, attributes: Attributes, seen: Attributes) -> bool:
        """`seen` is the request as the webhook sees it."""
        verdict = await self._ask(hook, seen)
        if verdict.refusal is not None:
            raise verdict.refusal
        if not verdict.operations or attributes.obj is None or seen.obj is None:
            return False
        try:
            changed = patched(seen.obj, verdict.operations)
        except BadAnswer as error:
            _failed(hook, error)
            return False
        if changed == seen.obj:
            return False
        if attributes.equivalents is not None:
            changed = await attributes.equivalents.convert_from_async(changed, seen.versioned_resource)
        attributes.obj.clear()
        attributes.obj.update(changed)
        return True

    async def _ask(self, hook: Webhook, attributes: Attributes) -> AdmissionResponse:
        """Rules 3 and 4."""
        if attributes.dry_run and hook.side_effects not in _WITHOUT_SIDE_EFFECTS:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        uid = self._uid()
        seconds = min(hook.timeout_seconds, TIMEOUT_SECONDS_MAX)
        try:
            answer = await self._post(hook.client_config, review_of(attributes, uid), seconds)
            verdict = verdict_of(answer, uid, hook.name)
        except (Unanswered, BadAnswer) as error:
            _failed(hook, error)
            return AdmissionResponse()
        attributes.warnings.extend(verdict.warnings)
        return verdict


def _conditions_hold(hook: Webhook, seen: Attributes, authorize: AuthorizerLookup) -> bool:
    """Rule 2."""
    if not hook.match_conditions:
        return True
    try:
        return conditions_hold(hook.match_conditions, names_of(seen, authorize), CostBudget())
    except CelError as error:
        if hook.failure_policy == "Ignore":
            return False
        raise ApiError(403, "Forbidden", f'admission webhook "{hook.name}": match conditions: {error}') from error


def _failed(hook: Webhook, error: Exception) -> None:
    if hook.failure_policy != "Ignore":
        raise internal(f'failed calling webhook "{hook.name}": {error}') from error


def _webhooks(cluster: ClusterReader, resource: str) -> tuple[Webhook, ...]:
    found: Iterable[WebhookConfiguration] = (to_view(doc, WebhookConfiguration) for doc in cluster.list(resource))
    return tuple(hook for one in sorted(found, key=lambda c: c.metadata.name) for hook in one.webhooks)
