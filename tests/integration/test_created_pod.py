"""How many modules a created pod crosses between the request and its answer: fewer are easier to follow."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import doorman
from doorman.store.key_index import KeyIndex
from support.api import Api, running_api

SOURCES = str(Path(doorman.__file__).parent)
RULES = ("admission/plugins/", "admission/policies/", "validation/", "semantics/", "registry/kinds/")
"""One module a plugin, a rule and a kind: a pod that is like no other before goes through many of them."""
FIRST_MAX = 52
SECOND_MAX = 21
AGAIN_MAX = 21
"""These may only become smaller. In a server with processes of its own for the front and the writer seven more are
crossed: four of `front`, `server/front_link`, `store/database` and `store/writer_process`.
"""


@contextmanager
def crossed() -> Iterator[set[str]]:
    """Modules of which something was called, but for those who read what was stored."""
    found: set[str] = set()
    published = KeyIndex.publish.__code__

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(SOURCES):
            return
        caller = frame.f_back
        while caller is not None:
            if caller.f_code is published:
                return
            caller = caller.f_back
        found.add(name[len(SOURCES) + 1 :])

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def pod(**metadata: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def created(api: Api, body: dict[str, Any]) -> set[str]:
    with crossed() as found:
        status, _ = await api.call("POST", "/api/v1/namespaces/default/pods", body)
    assert status == 201
    return found


async def test_way_of_a_created_pod_is_short() -> None:
    async with running_api() as api:
        await api.given_account("default")
        # What is known of who asks, and of how, is known.
        await api.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        first = {name for name in await created(api, pod(name="a")) if not name.startswith(RULES)}
        second = await created(api, pod(name="b"))
        await created(api, pod(generateName="c-"))
        again = await created(api, pod(generateName="c-"))
    assert (len(first) <= FIRST_MAX, len(second) <= SECOND_MAX, len(again) <= AGAIN_MAX) == (True, True, True), (
        f"{len(first)}, {len(second)}, {len(again)}: {sorted(first)}, {sorted(second)}, {sorted(again)}"
    )
