"""Random requests to a Doorman and to a kube-apiserver: what do they answer differently?

    .venv/bin/python tests/reference/compare_requests.py --theirs KUBECONFIG --ours KUBECONFIG --seed 1 --requests 10000

Requests are those of the corpus, each with one to three things changed at random. Both servers must be set up as
`tests/conformance/README.md` says for the corpus, and have none but its objects. What the kube-apiserver itself answers
differently from one time to the next is left out, as is what differs in the order of causes alone. `--id SEED:NUMBER`
shows one request in full.
"""

import argparse
import collections
import copy
import gzip
import json
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "conformance"))
from kitlib import corpus  # noqa: E402
from kitlib.api import Api  # noqa: E402

Json = Any
Place = tuple[Json, Any]
"""A dict or list, and a key or index in it."""

FOLDER = TESTS / "conformance" / "corpus"
DONE = (200, 201)
ASKED_AGAIN = 3
STRINGS = (
    "", " ", "a", "A", "-a", "a-", "a b", "a_b", "a.b", "a/b", "/a", "a//b", "..", "a/b/c", "ä", "\n", "a" * 63,
    "a" * 64, "a" * 254, "0", "-1", "1", "65536", "1.5", "100m", "1Gi", "1e3", "1e30", "10%", "110%", "true",
    "null", "*", "=", "a=b", "a,b", "10.0.0.1", "10.0.0.0/8", "::1", "300.0.0.1", "2026-01-01T00:00:00Z",
    "2026-13-01", "10s", "-10s", "http://a/b", "https://a/b?c", "IfNotPresent", "Never", "Always", "None",
    "NoSchedule", "NoExecute", "Exists", "Equal", "In", "TCP", "SCTP", "v1", "apps/v1", "example.com/x",
    "kubernetes.io/x", "k8s.io/", "self == oldSelf", "object.metadata.name == 'a'", "size(self) > 3", "{", "[a",
    "(", "a$", "Zm9v", "?",
)  # fmt: skip
NUMBERS = (
    0,
    1,
    -1,
    2,
    10,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**63 - 1,
    2**63,
    -(2**31) - 1,
    1.5,
    1e3,
    100,
    101,
    1000,
    3600,
    1e300,
)


class Bodies:
    """What the corpus says at each place of each kind, to be put elsewhere."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.values: dict[tuple[str, str], list[Json]] = collections.defaultdict(list)
        self.members: dict[tuple[str, str], list[tuple[str, Json]]] = collections.defaultdict(list)
        for line in lines:
            self._read(line["kind"], "", json.loads(line["request"]["body"]))

    def _read(self, kind: str, at: str, value: Json) -> None:
        self.values[kind, at].append(value)
        if isinstance(value, dict):
            for name, member in value.items():
                self.members[kind, at].append((name, member))
                self._read(kind, f"{at}.{name}", member)
        elif isinstance(value, list):
            for item in value:
                self._read(kind, f"{at}[]", item)


def places(value: Json, at: str = "") -> Iterator[tuple[Place, str]]:
    """Every place in a document, and its path."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        path = f"{at}.{key}" if isinstance(value, dict) else f"{at}[]"
        yield (value, key), path
        yield from places(inner, path)


class Changes:
    """One random change of a document after the other."""

    def __init__(self, rng: random.Random, bodies: Bodies, kind: str) -> None:
        self.rng = rng
        self.bodies = bodies
        self.kind = kind

    def change(self, doc: Json) -> None:
        found = [each for each in places(doc) if each[1] not in (".apiVersion", ".kind") or self.rng.random() < 0.1]
        if not found:
            return
        (holder, key), path = self.rng.choice(found)
        value = holder[key]
        change = self.rng.choice(
            (self._remove, self._null, self._other_type, self._empty, self._scalar, self._scalar, self._twice,
             self._member, self._member, self._transplant, self._transplant, self._unknown, self._renamed, self._many)
        )  # fmt: skip
        change(holder, key, value, path)

    def _remove(self, holder: Json, key: Any, _value: Json, _path: str) -> None:
        del holder[key]

    def _null(self, holder: Json, key: Any, _value: Json, _path: str) -> None:
        holder[key] = None

    def _other_type(self, holder: Json, key: Any, value: Json, _path: str) -> None:
        others = [
            each for each in ("x", 7, True, {}, [], {"a": "b"}, ["a"], [{}], 1.5) if type(each) is not type(value)
        ]
        holder[key] = copy.deepcopy(self.rng.choice(others))

    def _empty(self, holder: Json, key: Any, value: Json, _path: str) -> None:
        holder[key] = type(value)() if value is not None else {}

    def _scalar(self, holder: Json, key: Any, value: Json, _path: str) -> None:
        if isinstance(value, bool):
            holder[key] = not value
        elif isinstance(value, (int, float)):
            holder[key] = self.rng.choice(NUMBERS)
        elif isinstance(value, str):
            holder[key] = self.rng.choice((*STRINGS, value.upper(), value + " ", value + "-", value + value, value[:1]))

    def _twice(self, holder: Json, key: Any, value: Json, _path: str) -> None:
        target = holder if isinstance(holder, list) else value
        if isinstance(target, list) and target:
            target.insert(self.rng.randrange(len(target) + 1), copy.deepcopy(self.rng.choice(target)))

    def _member(self, holder: Json, key: Any, value: Json, path: str) -> None:
        """A member that others have here: it may exclude what is there."""
        here = self.bodies.members.get((self.kind, path))
        if isinstance(value, dict) and here:
            name, member = self.rng.choice(here)
            value[name] = copy.deepcopy(member)
        else:
            self._transplant(holder, key, value, path)

    def _transplant(self, holder: Json, key: Any, _value: Json, path: str) -> None:
        holder[key] = copy.deepcopy(self.rng.choice(self.bodies.values.get((self.kind, path)) or [None]))

    def _unknown(self, holder: Json, _key: Any, value: Json, _path: str) -> None:
        target = value if isinstance(value, dict) else holder
        if isinstance(target, dict):
            target[self.rng.choice(("unknown", "extra", "Name", "spec"))] = self.rng.choice((1, "x", {}, None))

    def _renamed(self, holder: Json, key: Any, value: Json, _path: str) -> None:
        if isinstance(holder, dict):
            del holder[key]
            holder[self.rng.choice((key[:1].upper() + key[1:], key + "s", key.upper()))] = value

    def _many(self, holder: Json, key: Any, value: Json, _path: str) -> None:
        if isinstance(value, list) and value:
            holder[key] = [
                copy.deepcopy(self.rng.choice(value)) for _ in range(self.rng.choice((2, 5, 17, 33, 65, 101)))
            ]


def made(seed: int, number: int, lines: list[dict[str, Any]], bodies: Bodies) -> dict[str, Any]:
    """The request of this number."""
    rng = random.Random(f"{seed}:{number}")
    line = rng.choice(lines)
    request = dict(line["request"])
    doc = json.loads(request["body"])
    changes = Changes(rng, bodies, line["kind"])
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        if isinstance(doc, dict):
            changes.change(doc)
    body = json.dumps(doc)
    if rng.random() < 0.03 and '": ' in body:
        body = body.replace('": ', '": "twice", "a": ', 1) if rng.random() < 0.3 else _with_a_member_twice(rng, body)
    if rng.random() < 0.1:
        request["path"] += f"&fieldValidation={rng.choice(('Strict', 'Ignore', 'Warn', 'strict'))}"
    return {**request, "body": body, "kind": line["kind"], "managed": line["managed"], "number": number}


def _with_a_member_twice(rng: random.Random, body: str) -> str:
    doc = json.loads(body)
    found = [place for place, _ in places(doc) if isinstance(place[0], dict)]
    if not found:
        return body
    holder, key = rng.choice(found)
    again = json.dumps({key: holder[key]})[1:-1]
    whole = json.dumps(holder)
    return body.replace(whole, whole[:-1] + ", " + again + "}", 1)


def comparable(answer: dict[str, Any]) -> str:
    """Causes in any order."""
    answer = copy.deepcopy(answer)
    body = answer["body"]
    if answer["code"] >= 400 and isinstance(body, dict):
        causes = (body.get("details") or {}).get("causes")
        if causes:
            causes.sort(key=lambda cause: json.dumps(cause, sort_keys=True))
            body["message"] = "".join(sorted(str(body.get("message"))))
    return json.dumps(answer, sort_keys=True)


class Comparison:
    def __init__(self, theirs: Api, ours: Api, stored: tuple[dict[str, Any], dict[str, Any]]) -> None:
        self.servers = (theirs, ours)
        self.stored = stored
        self.clusters: dict[str, list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]]] = (
            collections.defaultdict(list)
        )
        self.differ = 0
        self.asked = 0
        self._lock = threading.Lock()

    def ask(self, request: dict[str, Any]) -> None:
        expected, found = (
            corpus.ask(api, request, stored) for api, stored in zip(self.servers, self.stored, strict=True)
        )
        is_same = comparable(expected) == comparable(found)
        for _ in range(0 if is_same else ASKED_AGAIN):
            is_same = is_same or comparable(corpus.ask(self.servers[0], request, self.stored[0])) == comparable(found)
        with self._lock:
            self.asked += 1
            if is_same:
                return
            self.differ += 1
            told = corpus.differences(expected, found, request["kind"]) or [("order or value", "")]
            self.clusters[told[0][0]].append((request, expected, found, told[0][1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--theirs", required=True, metavar="KUBECONFIG")
    parser.add_argument("--ours", required=True, metavar="KUBECONFIG")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--group", action="append", help="of the corpus (may be given more than once)")
    parser.add_argument("--show", type=int, default=60)
    parser.add_argument("--id", metavar="SEED:NUMBER")
    options = parser.parse_args()
    lines = [
        line
        for file in sorted(FOLDER.glob("*.jsonl.gz"))
        if not options.group or file.name.removesuffix(".jsonl.gz") in options.group
        for line in corpus.read_lines(file)
        if line["expected"]["code"] in DONE and (line["request"]["body"] or "").startswith("{")
        and (line["request"].get("type") or "").endswith("json")
        and line["request"]["method"] != "DELETE"  # its body says whether it is a dry run
    ]  # fmt: skip
    bodies = Bodies(lines)
    servers = [Api.from_kubeconfig(file) for file in (options.theirs, options.ours)]
    objects = json.loads(gzip.decompress((FOLDER / "setup.json.gz").read_bytes()))
    comparison = Comparison(*servers, tuple(corpus.set_up(api, objects) for api in servers))
    if options.id:
        seed, number = map(int, options.id.split(":"))
        request = made(seed, number, lines, bodies)
        print(json.dumps(request, indent=1))
        for api, stored in zip(servers, comparison.stored, strict=True):
            print(json.dumps(corpus.ask(api, request, stored), indent=1))
        return 0
    numbers = iter(range(options.requests))

    def work() -> None:
        for number in iter(lambda: next(numbers, None), None):
            comparison.ask(made(options.seed, number, lines, bodies))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ranked = sorted(comparison.clusters.items(), key=lambda each: (-len(each[1]), each[0]))
    for name, members in ranked[: options.show]:
        request, expected, found, detail = min(members, key=lambda each: len(each[0]["body"]))
        words = [a["body"].get("message") if isinstance(a["body"], dict) else a["body"] for a in (expected, found)]
        print(f"{len(members)} x {name}\n    {options.seed}:{request['number']}: {request['method']} {request['path']}")
        print(f"    sent:   {request['body'][:500]}\n    theirs: {expected['code']} {str(words[0])[:500]}")
        print(f"    ours:   {found['code']} {str(words[1])[:500]}\n    {detail[:300]}")
        if expected.get("warnings") != found.get("warnings"):
            print(f"    warnings: {expected.get('warnings')} and {found.get('warnings')}")
    print(f"{comparison.asked} requests, {comparison.differ} differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
