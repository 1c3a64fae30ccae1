"""Jobs, cron jobs, stored pod templates."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.job import CRON_JOB, JOB, POD_TEMPLATE
from doorman.validation.workload_defaults import default_cron_job, default_job, default_pod_template


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def template(**pod: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never", **pod}}


def job(pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    doc = {"metadata": {"name": "j", "uid": "u"}, "spec": {"template": template(**(pod or {})), **spec}}
    default_job(doc)
    return doc


def cron_job(name: str = "c", **spec: Any) -> dict[str, Any]:
    inner = {"spec": {"template": template()}}
    doc = {"metadata": {"name": name, "uid": "u"}, "spec": {"schedule": "* * * * *", "jobTemplate": inner, **spec}}
    default_cron_job(doc)
    return doc


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(job(), [], id="plain"),
        pytest.param(
            job({"restartPolicy": "Always"}),
            ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
            id="always",
        ),
        pytest.param(
            job(parallelism=-1),
            ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"],
            id="negative",
        ),
        pytest.param(
            job(completionMode="X"),
            ['spec.completionMode: Unsupported value: "X": supported values: "NonIndexed", "Indexed"'],
            id="mode",
        ),
        pytest.param(
            job(completionMode="Indexed", parallelism=1),
            ["spec.completions: Required value: when completion mode is Indexed"],
            id="indexed-without-completions",
        ),
    ],
)
def test_job_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(JOB.create(doc, Context())) == expected


def test_job_template_is_fixed_unless_suspended() -> None:
    selected = {"nodeSelector": {"a": "b"}}
    assert [error.field for error in JOB.update(job(selected), job(), Context())] == ["spec.template"]
    assert JOB.update(job(selected, suspend=True), job(suspend=True), Context()) == []
    other = {"containers": [{"name": "c", "image": "other"}]}
    assert len(JOB.update(job(other, suspend=True), job(suspend=True), Context())) == 1
    assert JOB.update(job(parallelism=5, completions=1), job(parallelism=1, completions=1), Context()) == []


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(cron_job(), [], id="plain"),
        pytest.param(cron_job(schedule=""), ["spec.schedule: Required value"], id="no-schedule"),
        pytest.param(
            cron_job("a" * 53),
            [f'metadata.name: Invalid value: "{"a" * 53}": must be no more than 52 characters'],
            id="long-name",
        ),
        pytest.param(
            cron_job(concurrencyPolicy="X"),
            ['spec.concurrencyPolicy: Unsupported value: "X": supported values: "Allow", "Forbid", "Replace"'],
            id="policy",
        ),
    ],
)
def test_cron_job(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(CRON_JOB.create(doc, Context())) == expected
    assert texts(CRON_JOB.update(doc, doc, Context())) == expected


def test_pod_template_path_begins_with_template() -> None:
    doc: dict[str, Any] = {"metadata": {"name": "t"}, "template": template(tolerations=[{"operator": "Equal"}])}
    default_pod_template(doc)
    for found in (POD_TEMPLATE.create(doc, Context()), POD_TEMPLATE.update(doc, doc, Context())):
        assert [error.field for error in found] == ["template.spec.tolerations[0].operator"]
