"""Clients of a simulated server: they speak HTTP over the simulated network, and check whatever they are told.

An answer that does not come leaves open whether something was done; everything that is answered must fit the truth.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httptools

from sim.sim_cluster import TOKEN, SimCluster
from sim.sim_machine import Machines
from sim.sim_network import SimSocket
from sim.sim_truth import Truth, token_of
from sim.sim_world import SimLoop, World

PREFIX = "configmaps/default/"
PATH = "/api/v1/namespaces/default/configmaps"
JSON = "application/json"
ANSWER_SECONDS_MAX = 90.0
"""A server that is there answers any request within a minute, or says that it could not."""

CHANGES = 0.3
"""How often a client goes to another server, where there are several."""


class Lost(Exception):
    """The connection ended before the answer."""


class _Answers(asyncio.Protocol):
    """One connection: what comes back, parsed."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.is_complete = False
        self.is_lost = False
        self.head = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None: ...

    def connection_lost(self, _: Exception | None) -> None:
        self.is_lost = True
        if not self.head.done():
            self.head.set_exception(Lost())
            self.head.exception()  # whoever waits hears of it; nobody else has to
        self.pieces.put_nowait(None)

    def on_headers_complete(self) -> None:
        if not self.head.done():
            self.head.set_result(self._parser.get_status_code())

    def on_body(self, body: bytes) -> None:
        self.pieces.put_nowait(body)

    def on_message_complete(self) -> None:
        self.is_complete = True
        self.pieces.put_nowait(None)


class SimClient:
    """One user. Connections are opened when they are wanted, and kept as long as they live."""

    def __init__(self, world: World, machines: Machines, loop: SimLoop, name: str) -> None:
        self._world = world
        self._machines = machines
        self._loop = loop
        self.name = name
        self._kept: SimSocket | None = None
        self.cut_off_until = 0.0
        """Until then nobody is reached."""
        self.on_answer: Callable[[SimCluster, float, str], None] = lambda _cluster, _began, _what: None
        """Hears who has answered what, and when that was asked."""

    async def ask(
        self, method: str, path: str, body: Any = None, media: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """Raises `Lost`, or ConnectionRefusedError: then nothing was done."""
        socket, answers = self._take_line()
        began = self._world.now()
        socket.write(self._request(method, path, body, media))
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                status = await answers.head
                data = b""
                while (piece := await answers.pieces.get()) is not None:
                    data += piece
        except TimeoutError:
            if self._machines.at_the_other_end(socket).stopped_until <= began:
                self._world.fail(f"{self.name}: {method} {path} was not answered within {ANSWER_SECONDS_MAX} s")
            socket.close()
            raise Lost from None
        if not answers.is_complete:
            raise Lost
        self.on_answer(self._machines.at_the_other_end(socket), began, f"{method} {path}")
        if self._kept is None and not socket.is_closing():
            self._kept = socket
        else:
            socket.close()
        return status, json.loads(data) if data else {}

    async def watch(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """Events until the stream ends, whole or not."""
        socket, answers = self._open()
        try:
            socket.write(self._request("GET", path, None, ""))
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                status = await answers.head
            rest = b""
            while (piece := await answers.pieces.get()) is not None:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if status != 200:
                        yield {"type": "ERROR", "object": json.loads(line)}
                        return
                    yield json.loads(line)
            if status != 200:
                yield {"type": "ERROR", "object": json.loads(rest) if answers.is_complete else {}}
        finally:
            socket.close()

    def _take_line(self) -> tuple[SimSocket, _Answers]:
        """The connection of the last request, or a new one."""
        kept, self._kept = self._kept, None
        if kept is not None and self._machines.are_several and self._world.rng.random() < CHANGES:
            kept.close()
            kept = None
        if kept is None or kept.is_closing():
            return self._open()
        answers = _Answers()
        kept.set_protocol(answers)
        return kept, answers

    def _open(self) -> tuple[SimSocket, _Answers]:
        if self.cut_off_until > self._world.now():
            raise ConnectionRefusedError
        answers = _Answers()
        return self._machines.connect(answers, self._loop), answers

    def _request(self, method: str, path: str, body: Any, media: str) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: sim", f"Authorization: Bearer {TOKEN}", f"User-Agent: {self.name}"]
        if data:
            lines += [f"Content-Type: {media}", f"Content-Length: {len(data)}"]
        return "\r\n".join((*lines, "", "")).encode() + data


class KeyClient:
    """Writes, reads, lists and pages config maps, and compares every answer with the truth.

    The order of revisions is the one order in which everything must have happened: an answer must fit what was there at
    some moment between question and answer.
    """

    def __init__(self, world: World, client: SimClient, truth: Truth, keys: int) -> None:
        self._world = world
        self._client = client
        self._truth = truth
        self._keys = keys
        self._writes = 0
        self._known: dict[str, str] = {}
        self.done: dict[str, int] = {}

    async def act(self) -> None:
        rng = self._world.rng
        name = f"k{rng.randrange(self._keys)}"
        action = rng.choices(
            (self._create, self._update, self._patch, self._apply, self._delete, self._get, self._list, self._pages),
            (4, 6, 4, 1, 2, 6, 2, 1),
        )[0]
        try:
            await action(name)
        except (Lost, ConnectionRefusedError) as error:
            self._count(type(error).__name__)

    async def _create(self, name: str) -> None:
        await self._write("POST", PATH, name, self._body(name), expects=0)

    async def _update(self, name: str) -> None:
        known = self._known.get(name)
        body = self._body(name)
        if known is not None and self._world.rng.random() < 0.7:
            body["metadata"]["resourceVersion"] = known
            await self._write("PUT", f"{PATH}/{name}", name, body, expects=int(known))
        else:
            await self._write("PUT", f"{PATH}/{name}", name, body)

    async def _patch(self, name: str) -> None:
        body = {"data": self._body(name)["data"]}
        await self._write("PATCH", f"{PATH}/{name}", name, body, media="application/merge-patch+json")

    async def _apply(self, name: str) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", **self._body(name)}
        path = f"{PATH}/{name}?fieldManager={self._client.name}&force=true"
        await self._write("PATCH", path, name, body, media="application/apply-patch+yaml")

    async def _write(
        self,
        method: str,
        path: str,
        name: str,
        body: Any,
        *,
        expects: int | None = None,
        media: str = "application/json",
    ) -> None:
        key, first = PREFIX + name, self._truth.revision
        status, answer = await self._client.ask(method, path, body, media)
        self._count(f"{method} {status}")
        if status in (200, 201):
            revision = int(answer["metadata"]["resourceVersion"])
            self._known[name] = str(revision)
            true = self._truth.by_revision.get(revision)
            token = body["data"]["token"]
            if true is None or true.key != key or true.value is None or token_of(true.value) != token:
                self._world.fail(f"{method} {name} {token} was acknowledged at {revision}, where there is {true}")
            elif revision <= first:
                self._world.fail(f"{method} {name} was acknowledged at {revision}, before it was asked for: {first}")
            elif expects is not None and true.previous != expects:
                self._world.fail(f"{method} {name} upon {expects} was done upon {true.previous}")
        elif status in (404, 409):
            self._known.pop(name, None)
            self._check_refusal(method, key, status, first, expects)
            if (done := self._truth.revision_of(body["data"]["token"])) is not None:
                self._world.fail(f"{method} {name} was refused with {status}, and was done at {done}")
        elif status not in (429, 500, 503, 504):
            self._world.fail(f"{method} {path}: {status} {answer}")

    def _check_refusal(self, method: str, key: str, status: int, first: int, expects: int | None) -> None:
        """It must have been so at some moment since the question."""
        for held in self._truth.versions(key, first, self._truth.revision):
            if status == 404 and held is None:
                return
            if status == 409 and (held.revision if held is not None else 0) != (expects or 0):
                return
        self._world.fail(f"{method} {key} upon {expects} was refused with {status}, and nothing was in the way")

    async def _delete(self, name: str) -> None:
        key, first, known = PREFIX + name, self._truth.revision, self._known.pop(name, None)
        body = {"preconditions": {"resourceVersion": known}} if known and self._world.rng.random() < 0.5 else None
        status, answer = await self._client.ask("DELETE", f"{PATH}/{name}", body)
        self._count(f"DELETE {status}")
        versions = list(self._truth.versions(key, first, self._truth.revision))
        if status == 200:
            if None not in versions[1:]:
                self._world.fail(f"DELETE {name} was acknowledged, and it was there all the time")
            if body is not None and not any(
                event.value is None and event.previous == int(known or 0)
                for event in self._truth.by_key.get(key, ())
                if event.revision > first
            ):
                self._world.fail(f"DELETE {name} upon {known} was done upon another")
        elif status in (404, 409):
            self._check_refusal("DELETE", key, status, first, int(known) if body is not None and known else None)
        elif status not in (429, 500, 503, 504):
            self._world.fail(f"DELETE {name}: {status} {answer}")

    async def _get(self, name: str) -> None:
        key, first = PREFIX + name, self._truth.revision
        status, answer = await self._client.ask("GET", f"{PATH}/{name}")
        self._count(f"GET {status}")
        versions = list(self._truth.versions(key, first, self._truth.revision))
        if status == 200:
            revision, token = int(answer["metadata"]["resourceVersion"]), answer["data"]["token"]
            self._known[name] = str(revision)
            if not any(
                held is not None and held.revision == revision and token_of(held.value or b"") == token
                for held in versions
            ):
                self._world.fail(f"GET {name} gave {revision} {token}; since it was asked there were {versions}")
        elif status == 404:
            if None not in versions:
                self._world.fail(f"GET {name} found nothing; since it was asked there were {versions}")
        elif status not in (429, 500, 503, 504):
            self._world.fail(f"GET {name}: {status} {answer}")

    async def _list(self, _name: str) -> None:
        first = self._truth.revision
        status, answer = await self._client.ask("GET", PATH)
        self._count(f"LIST {status}")
        if status == 200:
            self._check_list(answer["items"], int(answer["metadata"]["resourceVersion"]), first)

    async def _pages(self, _name: str) -> None:
        first, items, token, revision = self._truth.revision, [], "", 0
        while True:
            status, answer = await self._client.ask("GET", f"{PATH}?limit=3&continue={token}")
            self._count(f"PAGE {status}")
            if status != 200:
                return  # 410: it is too long ago; then a client begins anew
            revision = revision or int(answer["metadata"]["resourceVersion"])
            if int(answer["metadata"]["resourceVersion"]) != revision:
                self._world.fail(f"a page is of {answer['metadata']['resourceVersion']}, the first was of {revision}")
            items += answer["items"]
            token = answer["metadata"].get("continue", "")
            if not token:
                break
        self._check_list(items, revision, first)

    def _check_list(self, items: list[Any], revision: int, first: int) -> None:
        if not first <= revision <= self._truth.revision:
            self._world.fail(f"a list is of {revision}; when it was asked for it was {first}")
        found = {PREFIX + item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in items}
        true = self._truth.state(PREFIX, revision)
        if found != true:
            self._world.fail(f"a list at {revision} differs: {sorted(found.items() ^ true.items())}")

    def _body(self, name: str) -> dict[str, Any]:
        self._writes += 1
        token = f"{self._client.name}-{self._writes}"
        filling = "x" * self._world.rng.choice((0, 10, 500, 5000))
        labels = {"part": self._world.rng.choice("ab")}
        return {"metadata": {"name": name, "labels": labels}, "data": {"token": token, "filling": filling}}

    def _count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1
        self._world.note(f"{self._client.name} {what}")


class WatchClient:
    """Lists and watches, for ever: it must hear of everything once and in order, or be told that it cannot."""

    def __init__(self, world: World, client: SimClient, truth: Truth, path: str, prefix: str) -> None:
        self._world = world
        self._client = client
        self._truth = truth
        self._path = path
        self._prefix = prefix
        self.events = 0
        self.gone = 0
        self.seen: dict[str, int] = {}
        """The cache that a client would keep: what there is by what it was told."""
        self.revision = 0

    async def run(self) -> None:
        while True:
            try:
                if self.revision == 0:
                    await self._begin()
                else:
                    await self._follow()
            except (Lost, ConnectionRefusedError, TimeoutError):
                pass
            await asyncio.sleep(self._world.rng.uniform(0.05, 1.0))

    async def _begin(self) -> None:
        status, answer = await self._client.ask("GET", self._path)
        if status != 200:
            return
        self.revision = int(answer["metadata"]["resourceVersion"])
        self.seen = {self._key(item): int(item["metadata"]["resourceVersion"]) for item in answer["items"]}
        self._check_cache()

    async def _follow(self) -> None:
        seconds = self._world.rng.choice((5, 60, 600))
        path = f"{self._path}?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={self.revision}"
        async for event in self._client.watch(path):
            kind, item = event["type"], event["object"]
            if kind == "ERROR":
                if item.get("code") == 410:
                    self.gone += 1
                    self.revision = 0
                    self._world.note(f"{self._client.name} is told 410")
                return
            self._take(kind, item)

    def _take(self, kind: str, item: dict[str, Any]) -> None:
        revision = int(item["metadata"]["resourceVersion"])
        if revision < self.revision or (revision == self.revision and kind != "BOOKMARK"):
            self._world.fail(f"{self._client.name} was told of {revision} after {self.revision}")
        missed = self._truth.between(self._prefix, self.revision, revision if kind == "BOOKMARK" else revision - 1)
        if missed:
            self._world.fail(f"{self._client.name} was told {kind} {revision} and not of {missed[0]}")
        self.revision = revision
        if kind == "BOOKMARK":
            return
        key, true = self._key(item), self._truth.by_revision.get(revision)
        self.events += 1
        said = {"ADDED": "ADDED", "MODIFIED": "MODIFIED", "DELETED": "DELETED"}[kind]
        if true is None or true.key != key:
            self._world.fail(f"{self._client.name} was told {kind} {key} at {revision}, where there is {true}")
        else:
            meant = "DELETED" if true.value is None else "MODIFIED" if true.previous else "ADDED"
            if said != meant:
                self._world.fail(f"{self._client.name} was told {kind} {key} at {revision}, which was {meant}")
        if kind == "DELETED":
            self.seen.pop(key, None)
        else:
            self.seen[key] = revision
        if self.events % 20 == 0:
            self._world.note(f"{self._client.name} is at {revision}")

    def _check_cache(self) -> None:
        true = self._truth.state(self._prefix, self.revision)
        if self.seen != true:
            differing = sorted(self.seen.items() ^ true.items())
            self._world.fail(f"{self._client.name} lists at {self.revision} what differs: {differing}")

    def check_at_rest(self) -> None:
        """Everything was told: the list equals the sum of what was watched."""
        true = self._truth.state(self._prefix, self._truth.revision)
        if self.seen != true:
            differing = sorted(self.seen.items() ^ true.items())
            self._world.fail(f"{self._client.name} has at rest what differs from what is stored: {differing}")

    def _key(self, item: dict[str, Any]) -> str:
        name = item["metadata"]["name"]
        return (
            f"{self._prefix}{item['metadata']['namespace']}/{name}"
            if self._prefix.count("/") == 1 and item["metadata"].get("namespace")
            else f"{self._prefix}{name}"
        )
