"""Views of admission webhooks' configurations, and of admission policies with their bindings."""

from typing import Final

from doorman.api.views.meta import LabelSelector, ObjectMeta, View

GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = f"mutatingwebhookconfigurations.{GROUP}"
VALIDATING: Final = f"validatingwebhookconfigurations.{GROUP}"
POLICIES: Final = f"validatingadmissionpolicies.{GROUP}"
BINDINGS: Final = f"validatingadmissionpolicybindings.{GROUP}"
MUTATING_POLICIES: Final = f"mutatingadmissionpolicies.{GROUP}"
MUTATING_BINDINGS: Final = f"mutatingadmissionpolicybindings.{GROUP}"


class Rule(View, frozen=True, kw_only=True):
    operations: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    scope: str = "*"


class ServiceReference(View, frozen=True, kw_only=True):
    namespace: str = ""
    name: str = ""
    path: str = ""
    port: int = 443


class ClientConfig(View, frozen=True, kw_only=True):
    url: str = ""
    service: ServiceReference | None = None
    ca_bundle: str = ""


class MatchCondition(View, frozen=True, kw_only=True):
    name: str = ""
    expression: str = ""


class Webhook(View, frozen=True, kw_only=True):
    name: str = ""
    client_config: ClientConfig = ClientConfig()
    rules: tuple[Rule, ...] = ()
    failure_policy: str = "Fail"
    match_policy: str = "Equivalent"
    namespace_selector: LabelSelector = LabelSelector()
    object_selector: LabelSelector = LabelSelector()
    match_conditions: tuple[MatchCondition, ...] = ()
    side_effects: str = ""
    timeout_seconds: int = 10
    reinvocation_policy: str = "Never"
    admission_review_versions: tuple[str, ...] = ()


class WebhookConfiguration(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    webhooks: tuple[Webhook, ...] = ()


class MatchResources(View, frozen=True, kw_only=True):
    namespace_selector: LabelSelector = LabelSelector()
    object_selector: LabelSelector = LabelSelector()
    resource_rules: tuple[Rule, ...] = ()
    exclude_resource_rules: tuple[Rule, ...] = ()
    match_policy: str = "Equivalent"


class Validation(View, frozen=True, kw_only=True):
    expression: str = ""
    message: str = ""
    message_expression: str = ""
    reason: str = ""


class AuditAnnotation(View, frozen=True, kw_only=True):
    key: str = ""
    value_expression: str = ""


class Variable(View, frozen=True, kw_only=True):
    name: str = ""
    expression: str = ""


class ParamKind(View, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""


class ParamRef(View, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    selector: LabelSelector | None = None
    parameter_not_found_action: str = "Deny"


class PolicySpec(View, frozen=True, kw_only=True):
    failure_policy: str = "Fail"
    match_constraints: MatchResources = MatchResources()
    match_conditions: tuple[MatchCondition, ...] = ()
    param_kind: ParamKind | None = None
    validations: tuple[Validation, ...] = ()
    audit_annotations: tuple[AuditAnnotation, ...] = ()
    variables: tuple[Variable, ...] = ()


class PolicyStatus(View, frozen=True, kw_only=True):
    observed_generation: int = 0


class Policy(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PolicySpec = PolicySpec()
    status: PolicyStatus = PolicyStatus()


class Expression(View, frozen=True, kw_only=True):
    expression: str = ""


class Mutation(View, frozen=True, kw_only=True):
    patch_type: str = ""
    apply_configuration: Expression | None = None
    json_patch: Expression | None = None


class MutatingPolicySpec(View, frozen=True, kw_only=True):
    failure_policy: str = "Fail"
    match_constraints: MatchResources = MatchResources()
    match_conditions: tuple[MatchCondition, ...] = ()
    param_kind: ParamKind | None = None
    variables: tuple[Variable, ...] = ()
    mutations: tuple[Mutation, ...] = ()
    reinvocation_policy: str = "Never"


class MutatingPolicy(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: MutatingPolicySpec = MutatingPolicySpec()


class BindingSpec(View, frozen=True, kw_only=True):
    policy_name: str = ""
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None
    validation_actions: tuple[str, ...] = ()


class Binding(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: BindingSpec = BindingSpec()
