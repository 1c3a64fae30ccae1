"""Defaults of workloads."""

from typing import Any

from doorman.validation.apps.workload_defaults import (
    default_cron_job,
    default_daemon_set,
    default_deployment,
    default_job,
    default_replication_controller,
    default_stateful_set,
)

TEMPLATE = {
    "spec": {
        "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
        "securityContext": {}, "schedulerName": "default-scheduler",
    }
}  # fmt: skip


def filled(default: Any, **spec: Any) -> dict[str, Any]:
    doc: dict[str, Any] = {"metadata": {}, "spec": spec}
    default(doc)
    return doc


def test_deployment() -> None:
    assert filled(default_deployment)["spec"] == {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "template": TEMPLATE,
    }
    assert filled(default_deployment, replicas=0, strategy={"type": "Recreate"})["spec"]["strategy"] == {
        "type": "Recreate"
    }


def test_daemon_set() -> None:
    assert filled(default_daemon_set)["spec"] == {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        "revisionHistoryLimit": 10,
        "template": TEMPLATE,
    }


def test_stateful_set() -> None:
    spec = filled(default_stateful_set, volumeClaimTemplates=[{}])["spec"]
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}}
    named: dict[str, Any] = {"type": "RollingUpdate"}
    assert filled(default_stateful_set, updateStrategy=dict(named))["spec"]["updateStrategy"] == named
    given = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    assert filled(default_stateful_set, updateStrategy=given)["spec"]["updateStrategy"]["rollingUpdate"] == {
        "partition": 2,
        "maxUnavailable": 1,
    }
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["volumeClaimTemplates"][0]["spec"] == {"volumeMode": "Filesystem"}


def test_job_counts() -> None:
    assert filled(default_job)["spec"]["completions"] == 1
    assert "completions" not in filled(default_job, parallelism=3)["spec"]
    assert filled(default_job)["spec"]["backoffLimit"] == 6
    assert filled(default_job, backoffLimitPerIndex=1)["spec"]["backoffLimit"] == 2**31 - 1


def test_cron_job_defaults_its_template() -> None:
    spec = filled(default_cron_job, jobTemplate={"spec": {"template": {}}})["spec"]
    assert spec["concurrencyPolicy"] == "Allow"
    assert spec["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] == "Always"


def test_replication_controller_takes_labels_from_its_template() -> None:
    doc = filled(default_replication_controller, template={"metadata": {"labels": {"a": "b"}}})
    assert doc["spec"]["selector"] == {"a": "b"}
    assert doc["metadata"]["labels"] == {"a": "b"}
