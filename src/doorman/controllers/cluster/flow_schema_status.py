"""api-priority-and-fairness-config-consumer: says of each FlowSchema whether the priority level it names is there.

The API server does this in Kubernetes. It reads FlowSchemas and PriorityLevelConfigurations, and applies the condition
`Dangling`.

Keys: names of FlowSchemas.
"""

from collections.abc import Iterable
from typing import Any, Final

from doorman.api.views.access.flowcontrol import FLOW_SCHEMAS, PRIORITY_LEVELS, FlowSchema
from doorman.api.views.meta import Object
from doorman.base.clock import Instant
from doorman.base.go_format import quote
from doorman.base.instants import to_time
from doorman.client.actions import Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "api-priority-and-fairness-config-consumer"
MANAGER: Final = "api-priority-and-fairness-config-consumer-v1"
WORKERS: Final = 1
DANGLING: Final = "Dangling"


def decide_condition(schema: FlowSchema, *, is_found: bool, now: Instant) -> dict[str, Any] | None:  # a condition
    """The condition to apply; None when it is there."""
    name = quote(schema.spec.priority_level_configuration.name)
    subject = f"This FlowSchema references the PriorityLevelConfiguration object named {name}"
    wanted = (
        {"status": "False", "reason": "Found", "message": f"{subject} and it exists"}
        if is_found
        else {"status": "True", "reason": "NotFound", "message": f"{subject} but there is no such object"}
    )
    there = next((one for one in schema.status.conditions or () if one.type == DANGLING), None)
    if there is not None and (there.status, there.reason, there.message) == tuple(wanted.values()):
        return None
    return {"type": DANGLING, **wanted, "lastTransitionTime": to_time(now)}


class FlowSchemaStatusController:
    name = NAME
    workers = WORKERS

    def __init__(self, schemas: ListerOf[FlowSchema], levels: ListerOf[Object]) -> None:
        self._schemas = schemas
        self._levels = levels
        self.sources = (Source(FLOW_SCHEMAS, _schema_keys), Source(PRIORITY_LEVELS, self._keys_by_level))

    def start(self, now: Instant) -> Result:  # noqa: ARG002  the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        schema = self._schemas.get(key)
        if schema is None:
            return DONE
        level = self._levels.get(schema.spec.priority_level_configuration.name)
        condition = decide_condition(schema, is_found=level is not None, now=now)
        if condition is None:
            return DONE
        body = {
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
            "kind": "FlowSchema",
            "metadata": {"name": key},
            "status": {"conditions": [condition]},
        }
        patch = Patch(
            resource=FLOW_SCHEMAS, name=key, subresource="status", body=body, type=PatchType.APPLY, manager=MANAGER
        )
        return Result(actions=(patch,))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change of the schema or its level tries again."""
        return

    def _keys_by_level(self, change: ObjectChange) -> Iterable[str]:
        if change.old is not None and change.new is not None:
            return ()
        name = (change.new or change.old).metadata.name
        wanted = (schema for schema in self._schemas.list() if schema.spec.priority_level_configuration.name == name)
        return [schema.metadata.name for schema in wanted]


def _schema_keys(change: ObjectChange) -> Iterable[str]:
    return (change.new.metadata.name,) if change.new is not None else ()
