"""Who reads what simulated pods use, and how: the metrics API, and autoscalers."""

from collections.abc import Callable, Mapping
from typing import Any

from doorman.client.informer_cache import ListerOf
from doorman.controllers.autoscaling.metric_proposals import ContainerUsages, MetricsOf
from doorman.nodes.pods.simulated_usage import OWNERS, SimulatedUsage


def simulated_usage(lister_of: Callable[[str], ListerOf[Any]]) -> SimulatedUsage:
    """What pods on simulated nodes use."""
    owners = {kind: lister_of(resource) for kind, resource in OWNERS.items()}
    return SimulatedUsage(lister_of("pods"), lister_of("nodes"), owners)


def metrics_reader(usage: SimulatedUsage) -> MetricsOf:
    """What pods use, as autoscalers read it."""

    def metrics_of(namespace: str) -> Mapping[str, ContainerUsages]:
        return {
            one.pod.metadata.name: {used.name: {"cpu": used.cpu, "memory": used.memory} for used in one.containers}
            for one in usage.in_namespace(namespace)
        }

    return metrics_of
