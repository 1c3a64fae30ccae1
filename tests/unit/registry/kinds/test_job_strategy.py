"""The selector of a Job: put in for those who do not choose one, and taken back when the name was taken."""

import copy
from typing import Any

import pytest

from doorman.registry.kinds.job_strategy import CONTROLLER_UID, forget_selector, generate_selector

GENERATED = {
    "job-name": "j",
    "batch.kubernetes.io/job-name": "j",
    "controller-uid": "u",
    CONTROLLER_UID: "u",
}


def job(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "j", "uid": "u"}
    if labels is not None:
        metadata["labels"] = labels
    return {"metadata": metadata, "spec": {"template": {"spec": {}}, **spec}}


def test_pods_are_selected_by_the_uid_of_the_job() -> None:
    doc = job()
    generate_selector(doc)
    assert doc["spec"]["template"]["metadata"]["labels"] == GENERATED
    assert doc["spec"]["selector"] == {"matchLabels": {CONTROLLER_UID: "u"}}
    assert doc["metadata"]["labels"] == GENERATED, "a job without labels has those of its template"


@pytest.mark.parametrize(
    ("doc", "labels", "selector"),
    [
        pytest.param(job(manualSelector=True), None, None, id="chosen-by-hand"),
        pytest.param(
            job({"own": "1"}, selector={"matchLabels": {"app": "x"}}), {"own": "1"},
            {"app": "x", CONTROLLER_UID: "u"}, id="what-the-client-has-set-stays",
        ),
    ],
)  # fmt: skip
def test_what_a_client_says_stays(doc: dict[str, Any], labels: Any, selector: Any) -> None:
    generate_selector(doc)
    assert doc["metadata"].get("labels") == labels
    assert (doc["spec"].get("selector") or {}).get("matchLabels") == selector


def test_job_whose_template_is_missing_gets_one() -> None:
    doc = job(template=None)
    generate_selector(doc)
    assert doc["spec"]["template"]["metadata"]["labels"] == GENERATED


def test_forgetting_leaves_what_the_client_sent() -> None:
    for sent in (job(), job({"own": "1"})):
        doc = copy.deepcopy(sent)
        generate_selector(doc)
        forget_selector(doc)
        assert doc["metadata"] == sent["metadata"]
        assert doc["spec"]["template"]["metadata"]["labels"] == {}
        assert doc["spec"]["selector"]["matchLabels"] == {}


def test_forgetting_keeps_a_label_with_another_value() -> None:
    doc = job(template={"metadata": {"labels": {"job-name": "mine"}}})
    generate_selector(doc)
    forget_selector(doc)
    assert doc["spec"]["template"]["metadata"]["labels"] == {"job-name": "mine"}
