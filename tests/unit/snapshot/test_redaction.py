"""What is left out of a snapshot."""

from typing import Any

from doorman.snapshot.redaction import redacted

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "a"}, "annotations": {"note": "x", "doorman.dev/startup": "3s"}},
    "spec": {
        "containers": [{"name": "c", "image": "i", "env": [{"name": "P", "value": "hunter2"}], "args": ["hunter2"]}],
        "initContainers": [{"name": "i", "command": ["hunter2"], "restartPolicy": "Always"}],
        "nodeSelector": {"disk": "ssd"},
    },
}


def test_what_containers_are_told_and_notes_go_and_what_decides_stays() -> None:
    found = redacted(TEMPLATE)
    assert found["spec"]["containers"] == [{"name": "c", "image": "i"}]
    assert found["spec"]["initContainers"] == [{"name": "i", "restartPolicy": "Always"}]
    assert found["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert found["metadata"]["annotations"] == {"doorman.dev/startup": "3s"}
    assert TEMPLATE["spec"]["containers"][0]["args"] == ["hunter2"], "what was given is as it was"


def test_templates_and_their_revisions_are_treated_alike() -> None:
    owner = redacted({"kind": "DaemonSet", "spec": {"template": TEMPLATE}})
    revision = redacted(
        {"kind": "ControllerRevision", "data": {"spec": {"template": {**TEMPLATE, "$patch": "replace"}}}}
    )
    assert revision["data"]["spec"]["template"] == {**owner["spec"]["template"], "$patch": "replace"}


def test_owners_of_fields_go_and_empty_annotations_with_them() -> None:
    found = redacted({"metadata": {"name": "n", "uid": "u", "managedFields": [1], "annotations": {"a": "b"}}})
    assert found == {"metadata": {"name": "n", "uid": "u"}}
