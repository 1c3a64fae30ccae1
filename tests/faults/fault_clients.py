"""The clients of the fault run. Each talks to one Doorman and goes to the other when that one does not answer."""

import http.client
import json
import random
import socket
import ssl
import threading
import time
import urllib.parse
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import yaml

from support.server import Server, authority_of

MAPS: Final = "/api/v1/namespaces/default/configmaps"
PODS: Final = "/api/v1/namespaces/default/pods"
ASK_SECONDS_MAX: Final = 4.0
SILENT_SECONDS_MAX: Final = 12.0
KEYS: Final = 4
GONE: Final = -1

_FAULTS: Final = (OSError, http.client.HTTPException, ValueError, KeyError)


class Away(Exception):
    """Nobody answered: what was asked may have been done."""


class Connection:
    """To one of the Doormen; the next one when it does not answer."""

    def __init__(self, doormen: Sequence[Server], first: int) -> None:
        self._doormen = doormen
        self._number = first
        self._open: http.client.HTTPSConnection | None = None
        self._token = ""

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and document. Raises `Away`."""
        try:
            connection = self._connected(ASK_SECONDS_MAX)
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            data = answer.read()
            if answer.will_close:
                self.close()
            found = json.loads(data)
        except _FAULTS as error:
            self.move_on()
            raise Away(str(error)) from error
        if answer.status >= 500 or answer.status == 429:
            self.move_on()
            raise Away(f"{answer.status}: {found.get('message')}")
        return answer.status, found

    def lines(self, path: str) -> Iterator[bytes]:
        """Of a watch, until it ends; only whole ones. Raises `Away`."""
        try:
            connection = self._connected(SILENT_SECONDS_MAX)
            connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}"})
            answer = connection.getresponse()
            while (line := answer.readline()).endswith(b"\n"):
                yield line
        except _FAULTS as error:
            raise Away(str(error)) from error
        finally:
            self.move_on()

    def move_on(self) -> None:
        self.close()
        self._number = (self._number + 1) % len(self._doormen)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _connected(self, seconds: float) -> http.client.HTTPSConnection:
        if self._open is None:
            server = self._doormen[self._number]
            config = yaml.safe_load(server.kubeconfig.read_text())
            self._token = config["users"][0]["user"]["token"]
            place = urllib.parse.urlsplit(server.address)
            context = ssl.create_default_context(cadata=authority_of(config))
            opened = http.client.HTTPSConnection(str(place.hostname), place.port, context=context, timeout=seconds)
            opened.connect()
            opened.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open = opened
        return self._open


class Client(threading.Thread, ABC):
    """Does its work again and again until it is told to end."""

    def __init__(self, doormen: Sequence[Server], number: int, seed: object, pause_seconds: float) -> None:
        super().__init__(daemon=True)
        self.rng = random.Random(f"{seed}/{type(self).__name__}/{number}")
        self.connection = Connection(doormen, number % len(doormen))
        self.faults: list[str] = []
        """What must not be."""
        self._pause_seconds = pause_seconds
        self._ends = threading.Event()

    def run(self) -> None:
        while not self._ends.wait(self._pause_seconds):
            try:
                self.work()
            except Away:
                self._ends.wait(0.05)
            except Exception as error:  # noqa: BLE001  a client that dies in silence would find nothing
                self.faults.append(f"{type(self).__name__}: {type(error).__name__}: {error}")

    def end(self) -> None:
        self._ends.set()
        self.join()

    @abstractmethod
    def work(self) -> None:
        """One step. Raises `Away` when nobody answers."""


class Acknowledged(NamedTuple):
    revision: int
    name: str
    value: int


class Key:
    """One object from its creation to its deletion. Its name is used once, so that nothing late can revive it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.value = GONE
        self.revision = 0
        self.open: set[int] = set()
        """What was asked for and not answered."""
        self.is_known = True
        self.created: set[int] = set()
        """Creations that were not answered: they may come whenever there is nothing."""
        self.log: deque[str] = deque(maxlen=12)
        """What was asked and answered last, to be told when something is wrong."""


class Writer(Client):
    """Writes its own keys, each upon the version it knows, and reads them anew whenever it is not sure."""

    def __init__(self, doormen: Sequence[Server], number: int, seed: object, acknowledged: Callable[[], None]) -> None:
        super().__init__(doormen, number, seed, pause_seconds=0.02)
        self._prefix = f"w{number}"
        self._count = 0
        self.keys = [self._new_key() for _ in range(KEYS)]
        self.retired: list[Key] = []
        self.acknowledged: list[Acknowledged] = []
        self._tell = acknowledged

    def _new_key(self) -> Key:
        self._count += 1
        return Key(f"{self._prefix}-{self._count}")

    def work(self) -> None:
        index = self.rng.randrange(KEYS)
        key = self.keys[index]
        if not key.is_known:
            self._read(key)
        elif not key.revision:
            self._write(key, "POST", MAPS)
        elif self.rng.random() < 0.05:
            self._remove(index)
        else:
            self._write(key, "PUT", f"{MAPS}/{key.name}")

    def _write(self, key: Key, method: str, path: str) -> None:
        self._count += 1
        metadata = {"name": key.name}
        if key.revision:
            metadata["resourceVersion"] = str(key.revision)
        else:
            key.created.add(self._count)
        key.open.add(self._count)
        key.is_known = False
        key.log.append(f"{method} {self._count} upon {key.revision}")
        status, doc = self.connection.ask(method, path, {"metadata": metadata, "data": {"n": str(self._count)}})
        key.log.append(f"{status}")
        if status in (200, 201):
            key.value, key.revision, key.is_known = self._count, int(doc["metadata"]["resourceVersion"]), True
            key.open.clear()
            key.created.discard(self._count)
            self._acknowledge(key)
        elif status not in (404, 409):
            self.faults.append(f"{method} {path}: {status} {doc.get('message')}")

    def _remove(self, index: int) -> None:
        key = self.keys[index]
        key.is_known = False
        key.open.add(GONE)
        options = {"preconditions": {"resourceVersion": str(key.revision)}}
        key.log.append(f"DELETE upon {key.revision}")
        status, _ = self.connection.ask("DELETE", f"{MAPS}/{key.name}", options)
        key.log.append(f"{status}")
        if status == 200:
            key.value = GONE
            self._retire(index)

    def _retire(self, index: int) -> None:
        self.retired.append(self.keys[index])
        self.keys[index] = self._new_key()

    def _read(self, key: Key) -> None:
        """What is there is what was acknowledged last, or something that was asked for after it."""
        key.log.append("GET")
        status, doc = self.connection.ask("GET", f"{MAPS}/{key.name}")
        key.log.append(f"{status} {(doc.get('data') or {}).get('n', '')}")
        if status == 404:
            if key.revision and GONE not in key.open:
                self.faults.append(f"LOST {key.name}: {key.value} was acknowledged, and nothing is there")
            if key.revision:
                key.value = GONE
                self._retire(self.keys.index(key))
            key.is_known = True
            return
        value, revision = int(doc["data"]["n"]), int(doc["metadata"]["resourceVersion"])
        if revision < key.revision:
            self.faults.append(f"STALE {key.name}: revision {key.revision} was acknowledged, and {revision} is read")
        if value != key.value and value not in key.open:
            self.faults.append(f"LOST {key.name}: {key.value} was acknowledged, {key.open} is open, {value} is read")
        if revision != key.revision:
            key.open.clear()  # what was asked for upon an older version is refused
        key.value, key.revision, key.is_known = value, revision, True

    def _acknowledge(self, key: Key) -> None:
        self.acknowledged.append(Acknowledged(key.revision, key.name, key.value))
        self._tell()


class Told(NamedTuple):
    """One event of a watch, or of the history."""

    revision: int
    type: str
    name: str
    value: int


class Segment:
    """What a watch told without a gap, beginning with a list."""

    def __init__(self, start: int, listed: dict[str, int]) -> None:
        self.start = self.last = start
        self.listed = listed
        self.told: list[Told] = []


class Watcher(Client):
    """Follows all objects; goes on where it was, wherever it ends; lists anew when that is too old."""

    def __init__(self, doormen: Sequence[Server], number: int, seed: object) -> None:
        super().__init__(doormen, number, seed, pause_seconds=0.0)
        self.segments: list[Segment] = []
        self._is_listed = False
        self.resumed = 0

    def work(self) -> None:
        if not self._is_listed:
            _, doc = self.connection.ask("GET", MAPS)
            listed = {one["metadata"]["name"]: int(one["data"]["n"]) for one in doc["items"] if _is_ours(one)}
            self.segments.append(Segment(int(doc["metadata"]["resourceVersion"]), listed))
            self._is_listed = True
        segment = self.segments[-1]
        path = f"{MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds={self.rng.randint(5, 30)}"
        self.resumed += 1
        for line in self.connection.lines(f"{path}&resourceVersion={segment.last}"):
            event = json.loads(line)
            obj = event["object"]
            if event.get("type") == "ERROR" or event.get("kind") == "Status" or obj.get("kind") == "Status":
                self._is_listed = False  # 410: it is told that there is a gap
                return
            segment.last = int(obj["metadata"]["resourceVersion"])
            if event["type"] != "BOOKMARK" and _is_ours(obj):
                segment.told.append(Told(segment.last, event["type"], obj["metadata"]["name"], int(obj["data"]["n"])))
            if self._ends.is_set():
                return


class Churner(Client):
    """Deletes pods of a ReplicaSet, so that controllers and schedulers always have something to do."""

    def __init__(self, doormen: Sequence[Server], number: int, seed: object) -> None:
        super().__init__(doormen, number, seed, pause_seconds=0.5)

    def work(self) -> None:
        _, doc = self.connection.ask("GET", f"{PODS}?labelSelector=app%3Dwork")
        names = sorted(one["metadata"]["name"] for one in doc["items"])
        if names:
            path = f"{PODS}/{self.rng.choice(names)}"
            self.connection.ask("DELETE", path, {"gracePeriodSeconds": 0})


class Pace:
    """Counts what is acknowledged, and how long nothing was."""

    def __init__(self) -> None:
        self.count = 0
        self.longest_seconds = 0.0
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def tick(self) -> None:
        with self._lock:
            now = time.monotonic()
            self.longest_seconds = max(self.longest_seconds, now - self._last)
            self._last = now
            self.count += 1


def _is_ours(doc: Any) -> bool:  # a ConfigMap
    return "n" in (doc.get("data") or {})
