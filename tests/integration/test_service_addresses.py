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


def test_service_leads_to_its_pods_as_long_as_they_are_there() -> None:
    async def story(cluster: Story) -> None:
        def addresses() -> list[str]:
            found = cluster.cluster.cache.collection("endpoints").objects["default/web"].view
            return [one["targetRef"]["name"] for subset in found.subsets for one in subset.get("addresses", [])]

        def sliced() -> list[str]:
            objects = cluster.cluster.cache.collection("endpointslices.discovery.k8s.io").objects
            ours = [one.view for key, one in objects.items() if key.startswith("default/web-")]
            return [one["targetRef"]["name"] for view in ours for one in view.endpoints or []]

        body = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
        await cluster.client.create(Create(resource="services", namespace="default", body=body))
        pod = {
            "metadata": {"name": "a", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0},
        }
        await cluster.client.create(Create(resource="pods", namespace="default", body=pod))
        await cluster.settle()
        assert (addresses(), sliced()) == (["a"], ["a"])
        await cluster.client.delete(Delete(resource="pods", namespace="default", name="a"))
        await cluster.settle()
        assert (addresses(), sliced()) == ([], [])
        await cluster.client.delete(Delete(resource="services", namespace="default", name="web"))
        await cluster.settle()
        assert "default/web" not in cluster.cluster.cache.collection("endpoints").objects

    run_story(story, nodes=1)
