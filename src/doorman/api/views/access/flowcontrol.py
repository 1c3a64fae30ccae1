"""The views of flow control's configuration: which requests go to which priority level, and what a level may do."""

from typing import Final

import msgspec

from doorman.api.views.meta import Condition, ObjectMeta, View

FLOW_SCHEMAS: Final = "flowschemas.flowcontrol.apiserver.k8s.io"
PRIORITY_LEVELS: Final = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"


class PriorityLevelReference(View, frozen=True, kw_only=True):
    name: str = ""


class NamedSubject(View, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""


class FlowSubject(View, frozen=True, kw_only=True):
    """Who is meant: `kind` says which of the three members counts."""

    kind: str = ""
    user: NamedSubject | None = None
    group: NamedSubject | None = None
    service_account: NamedSubject | None = None


class FlowResourceRule(View, frozen=True, kw_only=True):
    verbs: tuple[str, ...] | None = ()
    api_groups: tuple[str, ...] | None = ()
    resources: tuple[str, ...] | None = ()
    cluster_scope: bool = False
    namespaces: tuple[str, ...] | None = ()


class FlowPathRule(View, frozen=True, kw_only=True):
    verbs: tuple[str, ...] | None = ()
    urls: tuple[str, ...] | None = msgspec.field(name="nonResourceURLs", default=())


class FlowRules(View, frozen=True, kw_only=True):
    subjects: tuple[FlowSubject, ...] | None = ()
    resource_rules: tuple[FlowResourceRule, ...] | None = ()
    non_resource_rules: tuple[FlowPathRule, ...] | None = ()


class DistinguisherMethod(View, frozen=True, kw_only=True):
    type: str = ""


class FlowSchemaSpec(View, frozen=True, kw_only=True):
    priority_level_configuration: PriorityLevelReference = PriorityLevelReference()
    matching_precedence: int = 1000
    distinguisher_method: DistinguisherMethod | None = None
    rules: tuple[FlowRules, ...] | None = ()


class FlowSchemaStatus(View, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] | None = ()


class FlowSchema(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: FlowSchemaSpec = FlowSchemaSpec()
    status: FlowSchemaStatus = FlowSchemaStatus()


class Queuing(View, frozen=True, kw_only=True):
    queues: int = 64
    hand_size: int = 8
    queue_length_limit: int = 50


class LimitResponse(View, frozen=True, kw_only=True):
    type: str = "Reject"
    queuing: Queuing | None = None


class LimitedLevel(View, frozen=True, kw_only=True):
    nominal_concurrency_shares: int | None = 30
    lendable_percent: int | None = 0
    borrowing_limit_percent: int | None = None
    limit_response: LimitResponse = LimitResponse()


class PriorityLevelSpec(View, frozen=True, kw_only=True):
    type: str = ""
    limited: LimitedLevel | None = None


class PriorityLevelConfiguration(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PriorityLevelSpec = PriorityLevelSpec()
