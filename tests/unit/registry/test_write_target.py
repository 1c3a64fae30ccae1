"""What a write is about."""

from doorman.api.kinds import builtin_kinds
from doorman.registry.kinds.scale import scale_part
from doorman.registry.write_target import WriteTarget

DEPLOYMENTS = builtin_kinds().named("deployments.apps")
NODES = builtin_kinds().named("nodes")


def test_key_is_that_of_the_object() -> None:
    assert WriteTarget(DEPLOYMENTS, "d", "web", "status").store_key == "deployments.apps/d/web"
    assert WriteTarget(NODES, "", "n1").store_key == "nodes/n1"


def test_endpoint_is_the_subresource_of_the_request() -> None:
    assert WriteTarget(DEPLOYMENTS, "d", "web").endpoint == ""
    assert WriteTarget(DEPLOYMENTS, "d", "web", "status").endpoint == "status"
    scale = WriteTarget(DEPLOYMENTS, "d", "web", part=scale_part(DEPLOYMENTS))
    assert (scale.endpoint, scale.subresource) == ("scale", "")
