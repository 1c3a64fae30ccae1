"""Jobs, cron jobs, stored pod templates."""

from typing import Any

import pytest

from doorman.registry.kinds.job_strategy import forget_selector, generate_selector
from doorman.validation.apps.workload_defaults import default_cron_job, default_pod_template
from doorman.validation.batch.job import CRON_JOB, JOB, POD_TEMPLATE
from doorman.validation.context import Context
from support.jobs import job, template, texts


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
        pytest.param(
            cron_job(schedule="61 * * * *", startingDeadlineSeconds=-1, failedJobsHistoryLimit=-1),
            [
                'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61',
                "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
            ],
            id="schedule-and-numbers-in-order",
        ),
        pytest.param(cron_job(schedule="@every 1h", timeZone="UTC"), [], id="every-hour"),
    ],
)
def test_cron_job(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(CRON_JOB.create(doc, Context())) == expected
    stored = [text for text in expected if not text.startswith("metadata.name")]
    assert texts(CRON_JOB.update(doc, doc, Context())) == stored, "one that has a name already keeps it"


@pytest.mark.parametrize(
    ("zone", "faults"),
    [
        pytest.param("", ["timeZone must be nil or non-empty string"], id="empty"),
        pytest.param("../etc", ["unknown time zone ../etc"], id="path"),
        pytest.param("Much/TooLongForAPart", ["unknown time zone Much/TooLongForAPart"], id="long"),
        pytest.param(
            "Local",
            ["timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"],
            id="local",
        ),
    ],
)
def test_time_zone_of_a_cron_job_is_checked_when_it_changes(zone: str, faults: list[str]) -> None:
    doc = cron_job(timeZone=zone)
    assert texts(CRON_JOB.create(doc, Context())) == [
        f'spec.timeZone: Invalid value: "{zone}": {fault}' for fault in faults
    ]
    assert texts(CRON_JOB.update(doc, doc, Context())) == []


def test_zone_in_a_schedule_is_left_only_where_it_was() -> None:
    doc = cron_job(schedule="TZ=UTC 0 * * * *")
    assert texts(CRON_JOB.create(doc, Context())) == [
        'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": '
        "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    ]
    assert texts(CRON_JOB.update(doc, doc, Context())) == []
    both = cron_job(schedule="TZ=UTC 0 * * * *", timeZone="UTC")
    assert texts(CRON_JOB.update(both, doc, Context())) == [
        'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule'
    ]


def test_pod_template_path_begins_with_template() -> None:
    doc: dict[str, Any] = {"metadata": {"name": "t"}, "template": template(tolerations=[{"operator": "Equal"}])}
    default_pod_template(doc)
    for found in (POD_TEMPLATE.create(doc, Context()), POD_TEMPLATE.update(doc, doc, Context())):
        assert [error.field for error in found] == ["template.spec.tolerations[0].operator"]


GENERATED = {
    "batch.kubernetes.io/controller-uid": "u",
    "batch.kubernetes.io/job-name": "j",
    "controller-uid": "u",
    "job-name": "j",
}


def test_job_selects_by_its_uid() -> None:
    doc = job()
    assert doc["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert doc["spec"]["template"]["metadata"]["labels"] == GENERATED
    assert doc["metadata"]["labels"] == GENERATED, "a job without labels has those of its template"


def test_job_with_a_selector_of_its_own_keeps_it() -> None:
    own = {**template(), "metadata": {"labels": {"a": "b"}}}
    doc = job(manualSelector=True, selector={"matchLabels": {"a": "b"}}, template=own)
    assert doc["spec"]["selector"] == {"matchLabels": {"a": "b"}}
    assert doc["spec"]["template"]["metadata"]["labels"] == {"a": "b"}
    assert texts(JOB.create(doc, Context())) == []


def test_what_was_generated_can_be_taken_back() -> None:
    doc = job()
    forget_selector(doc)
    doc["metadata"] |= {"name": "k", "uid": "v"}
    generate_selector(doc)
    assert texts(JOB.create(doc, Context())) == []
    assert doc["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "v"}}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(
            job(selector={"matchLabels": {"batch.kubernetes.io/controller-uid": "x"}}),
            [
                ("spec.selector", "`selector` not auto-generated"),
                ("spec.template.metadata.labels", "`selector` does not match template `labels`"),
            ],
            id="another-uid",
        ),
        pytest.param(
            job(template={**template(), "metadata": {"labels": {"job-name": "x"}}}),
            [("spec.template.metadata.labels[job-name]", "must be 'j'")],
            id="another-name",
        ),
        pytest.param(
            job(manualSelector=True),
            [
                ("spec.selector", "Required value"),
                ("spec.template.metadata.labels", "`selector` does not match template `labels`"),
            ],
            id="manual-without-one",
        ),
    ],
)
def test_job_selector(doc: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    errors = JOB.create(doc, Context())
    assert [(error.field, error.body.rpartition(": ")[2]) for error in errors] == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({}, {"selector": {}}, ["spec.selector"], id="selector"),
        pytest.param({}, {"completions": 3}, ["spec.completions"], id="completions"),
        pytest.param({}, {"parallelism": 3}, [], id="parallelism"),
        pytest.param({}, {"completionMode": "Indexed"}, ["spec.completionMode"], id="mode"),
        pytest.param(
            {"completionMode": "Indexed", "completions": 2, "parallelism": 2},
            {"completions": 4, "parallelism": 4},
            [],
            id="indexed-grows",
        ),
        pytest.param(
            {"completionMode": "Indexed", "completions": 2, "parallelism": 2},
            {"completions": 4},
            ["spec.completions"],
            id="indexed-grows-alone",
        ),
    ],
)
def test_job_keeps_what_it_began_with(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    before, after = job(**old), job(**old)
    after["spec"] = {**after["spec"], **new}
    assert [error.field for error in JOB.update(after, before, Context())] == expected


def test_who_manages_a_job_is_a_path_in_a_domain() -> None:
    assert texts(JOB.create(job(managedBy="acme.io/queue"), Context())) == []
    assert texts(JOB.create(job(managedBy="1"), Context())) == [
        'spec.managedBy: Invalid value: "1": must be a domain-prefixed path (such as "acme.io/foo")'
    ]
