"""Objects of every kind, made and changed at one of a kube-apiserver and a Doorman: the other serves the very same.

What is made is what the corpus of requests stands upon (`tests/conformance/corpus/setup.json.gz`).
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from reference.both_servers import ALL_OF_THE_KIT, Both, both_over
from support.etcd import EtcdMember

MADE = json.loads(gzip.decompress((Path(__file__).parents[1] / "conformance/corpus/setup.json.gz").read_bytes()))


@pytest.mark.parametrize("maker", [pytest.param(0, id="by-doorman"), pytest.param(1, id="by-kube-apiserver")])
def test_object_of_one_is_served_by_the_other(maker: int, tmp_path: Path) -> None:
    """While both run, and by both when they are started on what the other has written last."""
    first, again = tmp_path / "first", tmp_path / "again"
    for folder in (first, again):
        folder.mkdir()
    with EtcdMember(tmp_path, "--unsafe-no-fsync") as member:
        with both_over(first, member, *ALL_OF_THE_KIT) as both:
            found = [fault for path, body, _ in MADE for fault in faults(both, maker, path, body)]
        with both_over(again, member, *ALL_OF_THE_KIT) as both:
            found += [fault for path, body, _ in MADE for fault in differences(both, place_of(path, body), "again")]
    assert found == []


def faults(both: Both, maker: int, path: str, body: dict[str, Any]) -> list[Any]:
    """Where the two differ: by what was asked."""
    other = 1 - maker
    status, made = both.ask(maker, "POST", path, body)
    if status not in (201, 409):  # some are there from the beginning
        return [(path, "cannot be made", made)]
    at = place_of(path, body)
    found = differences(both, at, "made")
    status, _ = both.ask(maker, "GET", f"{at}/scale")
    if status == 200:
        status, scaled = both.ask(maker, "PATCH", f"{at}/scale", {"spec": {"replicas": 2}})
        if status != 200:
            found.append((at, "cannot be scaled", scaled))
    note = {"metadata": {"annotations": {"example.com/changed-by": "the other"}}}
    status, changed = both.ask(other, "PATCH", at, note)
    if status != 200:
        found.append((at, "cannot be changed", changed))
    return found + differences(both, at, "changed")


def place_of(path: str, body: dict[str, Any]) -> str:
    return f"{path}/{body['metadata']['name']}"


def differences(both: Both, at: str, when: str) -> list[Any]:
    """At one revision: kube-apiserver goes on to write into some of what is made."""
    while True:
        (first, ours), (second, theirs) = both.ask(0, "GET", at), both.ask(1, "GET", at)
        if not first == second == 200:
            return [(at, when, ours, theirs)]
        if ours["metadata"]["resourceVersion"] == theirs["metadata"]["resourceVersion"]:
            return [(at, when, ours, theirs)] if ours != theirs else []
