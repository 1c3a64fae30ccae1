"""Clusters for tests: a whole control plane in the test's own process, on a clock that the test moves.

    from doorman.testing import Cluster

    with Cluster(nodes=3) as cluster:
        cluster.apply("deployment.yaml")
        cluster.taint("node-1", "maintenance=yes:NoExecute")
        cluster.advance("5m")
        assert not cluster.pods(node="node-1")

Everything that this module exports stays as it is within a major version.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorman.base.errors import ApiError
    from doorman.plan.plan_actions import PlanError
    from doorman.testing.cluster import Cluster

__all__ = ["ApiError", "Cluster", "PlanError"]


def __getattr__(name: str) -> Any:  # a class
    """Loaded when first used: the pytest plugin is imported by every run of pytest."""
    if name == "Cluster":
        from doorman.testing.cluster import Cluster

        return Cluster
    if name == "ApiError":
        from doorman.base.errors import ApiError

        return ApiError
    if name == "PlanError":
        from doorman.plan.plan_actions import PlanError

        return PlanError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
