"""Logs of simulated containers, asked for and followed."""

import asyncio
from typing import Any

from doorman.client.actions import Create, Delete, Patch
from support.api import Api
from support.cluster import Story, run_story

LOG = "/api/v1/namespaces/default/pods/p/log"


async def given(cluster: Story, **annotations: str) -> Api:
    marks = {f"doorman.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    body: dict[str, Any] = {
        "metadata": {"name": "p", "annotations": marks},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "node-1"},
    }
    await cluster.client.create(Create(resource="pods", namespace="default", body=body))
    await cluster.settle()
    return Api(cluster.cluster, cluster.clock)


async def follow(api: Api, query: str = "follow=true") -> tuple[list[str], asyncio.Task[None]]:
    """What comes, as it comes."""
    response = await api.answer("GET", f"{LOG}?{query}")
    stream = response.stream
    assert stream is not None
    heard: list[str] = []

    async def listen() -> None:
        async for piece in stream.lines():
            heard.extend(piece.decode().splitlines(keepends=True))

    return heard, asyncio.ensure_future(listen())


def test_choice_of_lines() -> None:
    async def story(cluster: Story) -> None:
        api = await given(cluster, logs="a\nb\nc", log_interval="1s")
        await cluster.advance(2.5)
        assert await api.call("GET", LOG) == (200, "a\nb\nc\n")
        assert (await api.call("GET", f"{LOG}?tailLines=1"))[1] == "c\n"
        assert (await api.call("GET", f"{LOG}?sinceSeconds=2"))[1] == "b\nc\n"
        assert (await api.call("GET", f"{LOG}?sinceTime=2026-01-01T00:00:02Z"))[1] == "c\n"
        assert (await api.call("GET", f"{LOG}?limitBytes=3"))[1] == "a\nb"
        assert (await api.call("GET", f"{LOG}?timestamps=true&tailLines=1"))[1] == "2026-01-01T00:00:02.000000000Z c\n"
        answer = await api.answer("GET", LOG)
        assert answer.content_type == "text/plain"

    run_story(story, nodes=1)


def test_log_is_followed_until_the_container_ends() -> None:
    async def story(cluster: Story) -> None:
        api = await given(cluster, runs_for="5s", exit_codes="1")
        heard, task = await follow(api)
        await cluster.advance(4)
        assert (heard, task.done()) == (["container c started, image i\n"], False)
        await cluster.advance(1)
        assert (heard[1:], task.done()) == (["exited with code 1\n"], True)

    run_story(story, nodes=1)


def test_followed_text_comes_line_by_line_and_ends_with_the_pod() -> None:
    async def story(cluster: Story) -> None:
        api = await given(cluster, logs="a\nb\nc", log_interval="1s")
        await cluster.advance(0.5)
        heard, task = await follow(api, "follow=true&tailLines=0")
        await cluster.advance(2.5)
        assert heard == ["b\n", "c\n", "a\n"][: len(heard)]
        assert len(heard) == 3
        await cluster.client.delete(Delete(resource="pods", namespace="default", name="p", grace_seconds=0))
        await cluster.settle()
        assert task.done()

    run_story(story, nodes=1)


def test_follower_that_has_had_enough() -> None:
    async def story(cluster: Story) -> None:
        api = await given(cluster, logs="abc", log_interval="1s")
        heard, task = await follow(api, "follow=true&limitBytes=6")
        await cluster.advance(3)
        assert ("".join(heard), task.done()) == ("abc\nab", True)

    run_story(story, nodes=1)


def test_errors_are_a_kubelets() -> None:
    async def story(cluster: Story) -> None:
        api = await given(cluster, startup="10s")
        status, answer = await api.call("GET", LOG)
        text = 'container "c" in pod "p" is waiting to start: ContainerCreating'
        assert (status, answer["reason"], answer["message"]) == (400, "BadRequest", text)
        assert (await api.call("GET", f"{LOG}?container=x"))[1]["message"] == "container x is not valid for pod p"
        assert (await api.call("POST", LOG, {}))[0] == 405
        body = {"metadata": {"annotations": {"doorman.dev/simulated": None}}}
        await cluster.client.patch(Patch(resource="nodes", name="node-1", body=body))
        assert (await api.call("GET", LOG))[0] == 501
        await cluster.client.delete(Delete(resource="nodes", name="node-1"))
        status, answer = await api.call("GET", LOG)
        assert (status, answer["message"]) == (404, 'nodes "node-1" not found')

    run_story(story, nodes=1)


def test_node_that_is_cut_off_cannot_be_asked() -> None:
    async def story(cluster: Story) -> None:
        api = await given(cluster)
        body = {"metadata": {"annotations": {"doorman.dev/silent": "true"}}}
        await cluster.client.patch(Patch(resource="nodes", name="node-1", body=body))
        status, answer = await api.call("GET", LOG)
        url = "https://10.64.0.1:10250/containerLogs/default/p/c"
        assert (status, answer["message"]) == (500, f'Get "{url}": dial tcp 10.64.0.1:10250: i/o timeout')

    run_story(story, nodes=1)


def test_follower_hears_nothing_of_a_node_that_is_cut_off() -> None:
    async def story(cluster: Story) -> None:
        api = await given(cluster, logs="a", log_interval="10s")
        heard, task = await follow(api)
        body = {"metadata": {"annotations": {"doorman.dev/silent": "true"}}}
        await cluster.client.patch(Patch(resource="nodes", name="node-1", body=body))
        labels = {"metadata": {"labels": {"seen": "yes"}}}
        await cluster.client.patch(Patch(resource="pods", namespace="default", name="p", body=labels))
        await cluster.advance(60)
        assert (heard, task.done()) == (["a\n"], False)
        await cluster.client.delete(Delete(resource="pods", namespace="default", name="p", grace_seconds=0))
        await cluster.settle()
        assert task.done()

    run_story(story, nodes=1)
