"""The views of flow control's configuration: which requests go to which priority level."""

from typing import Final

from doorman.api.views.meta import Condition, ObjectMeta, View

FLOW_SCHEMAS: Final = "flowschemas.flowcontrol.apiserver.k8s.io"
PRIORITY_LEVELS: Final = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"


class PriorityLevelReference(View, frozen=True, kw_only=True):
    name: str = ""


class FlowSchemaSpec(View, frozen=True, kw_only=True):
    priority_level_configuration: PriorityLevelReference = PriorityLevelReference()


class FlowSchemaStatus(View, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] | None = ()


class FlowSchema(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: FlowSchemaSpec = FlowSchemaSpec()
    status: FlowSchemaStatus = FlowSchemaStatus()
