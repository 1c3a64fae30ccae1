"""Addresses of services are objects too."""

from doorman.client.actions import Create, Delete
from support.cluster import Story, run_story

ADDRESSES = "ipaddresses.networking.k8s.io"


def test_address_is_an_object_as_long_as_its_service_is_there() -> None:
    async def story(cluster: Story) -> None:
        def names() -> list[str]:
            return sorted(cluster.cluster.cache.collection(ADDRESSES).objects)

        await cluster.settle()
        assert names() == ["10.96.0.1"]
        body = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], "clusterIP": "10.96.3.4"}}
        await cluster.client.create(Create(resource="services", namespace="default", body=body))
        await cluster.settle()
        assert names() == ["10.96.0.1", "10.96.3.4"]
        await cluster.client.delete(Delete(resource=ADDRESSES, name="10.96.3.4"))
        await cluster.settle()
        assert names() == ["10.96.0.1", "10.96.3.4"]
        await cluster.client.delete(Delete(resource="services", namespace="default", name="web"))
        await cluster.settle()
        assert names() == ["10.96.0.1"]

    run_story(story, nodes=0)


def test_the_apis_own_service_comes_back_with_its_address() -> None:
    async def story(cluster: Story) -> None:
        await cluster.settle()
        for resource in ("services", "endpoints", "endpointslices.discovery.k8s.io"):
            objects = cluster.cluster.cache.collection(resource).objects
            before = objects["default/kubernetes"].view.metadata.uid
            await cluster.client.delete(Delete(resource=resource, namespace="default", name="kubernetes"))
            await cluster.settle()
            assert objects["default/kubernetes"].view.metadata.uid != before
        assert sorted(cluster.cluster.cache.collection(ADDRESSES).objects) == ["10.96.0.1"]

    run_story(story, nodes=0)
