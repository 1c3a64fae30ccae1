"""A pod that has every member of metadata, and pods as the store keeps them."""

import msgspec

from doorman.api.views.pods import Pod
from doorman.base.json_types import Document
from doorman.registry.cache.stored_object import Stored, to_kept_bytes
from doorman.store.store_contract import Entry

FULL: Document = {
    "metadata": {
        "name": "a", "uid": "u", "resourceVersion": "7", "generation": 3, "generateName": "a-", "namespace": "x",
        "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"}, "annotations": {"c": 'd"'},
        "ownerReferences": [{"uid": "o"}], "finalizers": ["f"], "managedFields": [{"manager": "m", "fieldsV1": {}}],
        "deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 0,
    },
    "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 5},
    "status": {"phase": "Running"},
}  # fmt: skip


def stored(doc: Document) -> Stored:
    return Stored(Entry("pods/x/a", to_kept_bytes(doc), 7, 7), "x/a", msgspec.json.Decoder(Pod).decode)
