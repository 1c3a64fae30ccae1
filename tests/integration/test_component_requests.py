"""Requests of components in process count in `/metrics` as everybody else's do."""

import re

from doorman.client.actions import Create
from support.api import credentials
from support.cluster import Story, run_story


def counts(cluster: Story, **labels: str) -> int:
    """The sum of apiserver_request_total over series that have these labels."""
    page = b"".join(cluster.cluster.pipeline(credentials())._metrics.answer().chunks or ()).decode()
    total = 0.0
    for line in page.splitlines():
        found = re.fullmatch(r"apiserver_request_total\{(.*)\} (\S+)", line)
        if found and all(f'{name}="{value}"' in found[1] for name, value in labels.items()):
            total += float(found[2])
    return int(total)


def test_creates_that_a_controller_is_refused_are_counted() -> None:
    async def story(cluster: Story) -> None:
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
        await cluster.client.create(Create(resource="resourcequotas", namespace="default", body=quota))
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        body = {"metadata": {"name": "r"}, "spec": spec}
        await cluster.client.create(Create(resource="replicasets.apps", namespace="default", body=body))
        await cluster.settle()
        assert counts(cluster, verb="POST", resource="pods", code="403", scope="resource") > 0

    run_story(story, nodes=1)


def test_bindings_evictions_and_heartbeats_are_counted() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p")
        assert counts(cluster, verb="POST", resource="pods", subresource="binding", code="201") == 1
        await cluster.taint("node-1", "k=v:NoExecute")
        assert counts(cluster, verb="DELETE", resource="pods", code="200") >= 1
        before = counts(cluster, verb="PUT", resource="leases", code="200")
        await cluster.advance(60)
        assert counts(cluster, verb="PUT", resource="leases", code="200") >= before + 6

    run_story(story, nodes=1)
