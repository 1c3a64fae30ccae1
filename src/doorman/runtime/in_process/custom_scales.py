"""The scales of custom kinds, for autoscalers: read where the kind's definition says that they are."""

from doorman.api.kinds import Kinds
from doorman.api.machinery.label_selectors import Selector, parse_selector
from doorman.api.views.autoscaling.horizontal_pod_autoscalers import ScaleTargetReference
from doorman.base.errors import ApiError, no_such_resource
from doorman.controllers.autoscaling.scale_targets import CustomScales, ScaleTarget
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.kinds.scale import to_scale


def custom_scales(kinds: Kinds, cache: WatchCache) -> CustomScales:
    def find(reference: ScaleTargetReference, namespace: str) -> ScaleTarget | str | None:
        group = reference.api_version.partition("/")[0] if "/" in reference.api_version else ""
        row = next((row for row in kinds.rows if (row.group, row.kind) == (group, reference.kind)), None)
        if row is None:
            return None
        if not row.is_custom or row.scale is None:
            return no_such_resource().message
        stored = cache.collection(row.storage).get(f"{namespace}/{reference.name}")
        if stored is None:
            return f'{row.group_resource} "{reference.name}" not found'
        try:
            scale = to_scale(stored.document(), row.scale)
        except ApiError as error:
            return error.message
        return ScaleTarget(
            resource=row.group_resource,
            replicas=scale["spec"]["replicas"],
            selector=_selector_of(scale["status"].get("selector", "")),
        )

    return find


def _selector_of(text: str) -> Selector | None:
    """None where there is none that can be read."""
    try:
        return parse_selector(text) if text else None
    except ValueError:
        return None
