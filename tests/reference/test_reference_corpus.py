"""What the corpus of requests writes, written at one of a kube-apiserver and a Doorman and changed at the other: both
serve the very same, and neither meets anything that it cannot read.

The requests were recorded as dry runs; here they are done.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.kitlib import corpus
from reference.both_servers import ALL_OF_THE_KIT, Both, both_over
from reference.test_reference_objects import MADE, differences
from support.etcd import EtcdMember

FOLDER = Path(__file__).parents[1] / "conformance" / "corpus"
SUBRESOURCE = re.compile("/(status|scale|finalize|approval|resize|ephemeralcontainers)$")
DONE = (200, 201)


@pytest.mark.parametrize("maker", [pytest.param(0, id="by-doorman"), pytest.param(1, id="by-kube-apiserver")])
def test_what_one_writes_the_other_reads_and_changes(maker: int, tmp_path: Path) -> None:
    with (
        EtcdMember(tmp_path, "--unsafe-no-fsync") as member,
        both_over(tmp_path, member, *ALL_OF_THE_KIT) as both,
    ):
        for path, body, _ in MADE:
            both.ask(maker, "POST", path, body)
        found = [faults(both, maker, number, request) for number, request in enumerate(writes())]
    assert [one for some in found for one in some or ()] == []
    assert sum(one is not None for one in found) > 1000, "most of them are done"


def writes() -> Iterator[dict[str, Any]]:
    for file in sorted(FOLDER.glob("*.jsonl.gz")):
        for line in corpus.read_lines(file):
            request = line["request"]
            is_kept = not request["path"].partition("?")[0].endswith("/token")
            if is_kept and line["expected"]["code"] in DONE and request["method"] in ("POST", "PUT", "PATCH"):
                yield request


def faults(both: Both, maker: int, number: int, request: dict[str, Any]) -> list[Any] | None:
    """None: it is not done here, as others were done before it."""
    path = re.sub("[?&]dryRun=All", "", request["path"])
    if "?" not in path:
        path = path.replace("&", "?", 1)
    place = SUBRESOURCE.sub("", path.partition("?")[0])
    body, is_new = request.get("body") or "", request["method"] == "POST"
    if "${" in body:
        metadata = both.ask(maker, "GET", place)[1].get("metadata", {})
        body = body.replace("${rv}", metadata.get("resourceVersion", "")).replace("${uid}", metadata.get("uid", ""))
    status, written = both.ask(maker, request["method"], path, body.encode(), request.get("type") or "application/json")
    if status not in DONE or not written.get("metadata", {}).get("name"):
        return None
    at = f"{place}/{written['metadata']['name']}" if is_new else place
    note = {"metadata": {"annotations": {"example.com/changed": str(number)}}}
    status, changed = both.ask(1 - maker, "PATCH", at, note)
    if status == 404:
        return None  # a review, or what is answered and not kept
    found = differences(both, at, path) if status == 200 else [(at, "cannot be changed", changed)]
    if is_new:
        both.ask(maker, "DELETE", at)
    return found
