"""Rules about tolerations by themselves."""

import pytest

from support.linting import findings, ids, workload

SHADOWED = "DM003"


@pytest.mark.parametrize(
    ("tolerations", "found"),
    [
        pytest.param("[{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]", [], id="fine"),
        pytest.param(
            "[{key: k, operator: Exists}, {key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 9}]",
            ["DM003"],
            id="shadowed",
        ),
        pytest.param(
            "[{key: k, effect: NoExecute, tolerationSeconds: 9, operator: Exists}, {key: k, operator: Exists}]",
            [],
            id="narrow-first",
        ),
        pytest.param(
            "[{key: k, value: v}, {key: k, operator: Equal, value: v, effect: NoSchedule}]",
            ["DM003"],
            id="equal-said-or-not",
        ),
        pytest.param("[{key: k, value: v}, {key: k, value: w}]", [], id="other-values"),
        pytest.param(
            "[{key: num, operator: Gt, value: '5'}, {key: num, operator: Gt, value: '9'}]", ["DM003"], id="gt"
        ),
        pytest.param("[{key: num, operator: Gt, value: '9'}, {key: num, operator: Gt, value: '5'}]", [], id="gt-wider"),
        pytest.param("[{key: num, operator: Lt, value: '5'}, {key: num, value: '4'}]", ["DM003"], id="lt-and-equal"),
        pytest.param("[{key: num, operator: Lt, value: '5'}, {key: num, value: '5'}]", [], id="lt-at-its-bound"),
        pytest.param(
            "[{key: num, operator: Gt, value: '5'}, {key: num, operator: Lt, value: '9'}]", [], id="gt-and-lt"
        ),
        pytest.param("[{operator: Exists, effect: NoSchedule}]", ["DM004"], id="every-key"),
        pytest.param("[{operator: Exists, key: ''}]", ["DM004", "DM007"], id="every-key-written"),
        pytest.param("[{key: num, operator: Gt, value: '0950'}]", ["DM005"], id="leading-zero"),
        pytest.param("[{key: num, operator: Lt, value: '+5'}]", ["DM005"], id="sign"),
        pytest.param("[{key: num, operator: Lt, value: '1e3'}]", ["DM005"], id="exponent"),
        pytest.param("[{key: num, operator: Gt, value: '-5'}]", [], id="negative-is-canonical"),
        pytest.param("[{key: num, operator: Gt}]", ["DM005"], id="no-number"),
        pytest.param("[{key: k, operator: Exists, effect: NoSchedule, tolerationSeconds: 9}]", ["DM006"], id="seconds"),
        pytest.param("[{key: k, operator: Exists, tolerationSeconds: 0}]", ["DM006"], id="seconds-without-effect"),
        pytest.param("[{key: k, value: true}]", ["DM017"], id="boolean"),
        pytest.param("[{key: k, value: yes}]", ["DM017"], id="yes"),
        pytest.param("[{key: k, operator: Gt, value: 5}]", ["DM017"], id="number"),
        pytest.param(
            "[{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: '9'}]", ["DM017"], id="text-seconds"
        ),
        pytest.param("[{key: k, operator: Exist}]", ["DM018"], id="operator"),
        pytest.param("[{key: k, operator: Exists, value: v}]", ["DM018"], id="exists-with-value"),
        pytest.param("[{key: k, effect: Noschedule}]", ["DM018"], id="effect"),
        pytest.param("[{value: v}]", ["DM018"], id="no-key"),
        pytest.param("[{key: 'a b'}]", ["DM018"], id="key"),
        pytest.param("[{key: k, operator: Exists, effect: NoExecute, tolerationsSeconds: 9}]", ["DM019"], id="member"),
        pytest.param("[hello, {key: k, value: v}, 5]", [], id="no-tolerations-at-all"),
        pytest.param("all", [], id="no-list"),
        pytest.param("null", [], id="nothing"),
    ],
)
def test_tolerations(tolerations: str, found: list[str]) -> None:
    assert ids(workload(tolerations)) == [f"{one}:7" for one in found]


@pytest.mark.parametrize("kind", ["Pod", "Job", "StatefulSet", "ReplicaSet", "Rollout"])
def test_templates_of_other_kinds(kind: str) -> None:
    assert ids(workload("[{key: k, value: true}]", kind=kind)) == ["DM017:7"]


def test_cron_jobs_and_lists() -> None:
    template = "{spec: {containers: [], tolerations: [{key: k, operator: Nope}]}}"
    cron = f"{{spec: {{jobTemplate: {{spec: {{template: {template}}}}}}}, metadata: {{name: c}}}}"
    text = f"apiVersion: batch/v1\nkind: CronJobList\nitems:\n- {cron}\n"
    assert ids(text) == ["DM018:4"]


def test_daemon_sets_may_tolerate_everything() -> None:
    assert ids(workload("[{operator: Exists}]", kind="DaemonSet")) == []


def test_messages_say_what_happens_and_what_was_meant() -> None:
    told = [
        one.message
        for tolerations in (
            "[{key: k, operator: Exists}, {key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 9}]",
            "[{key: k, effect: Noschedule}]",
            "[{key: k, operator: Exists, effect: NoExecute, tolerationsSeconds: 9}]",
        )
        for one in findings(workload(tolerations))
    ]
    assert told[0] == (
        "k:NoExecute for 9s is never used: k, tolerations[0], comes first, so such taints are tolerated for ever"
    )
    assert told[1].endswith("; did you mean NoSchedule?")
    assert told[2] == "a toleration has no member tolerationsSeconds; did you mean tolerationSeconds?"


def test_pods_of_a_controller_are_its_own_business() -> None:
    owned = workload("[{key: k, value: true}]", kind="Pod").replace(
        "{name: web}", "{name: web, ownerReferences: [{controller: true, kind: ReplicaSet, name: web}]}"
    )
    assert ids(owned) == []
