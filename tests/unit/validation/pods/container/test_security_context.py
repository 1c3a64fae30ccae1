"""Users, groups, profiles and kernel settings of pods and containers."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.pods.pod import validate_pod_create
from doorman.validation.pods.pod_defaults import default_pod

RANGE = "must be between 0 and 2147483647, inclusive"


def faults(*, container: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    one = {"name": "c", "image": "i"}
    if container is not None:
        one["securityContext"] = container  # type: ignore[assignment]  # JSON
    doc = {"metadata": {"name": "p"}, "spec": {"containers": [one], **spec}}
    default_pod(doc)
    return [str(error) for error in validate_pod_create(doc, Context())]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param(
            {"runAsUser": 0, "runAsGroup": 2147483647, "fsGroup": 1, "supplementalGroups": [0]}, [], id="good"
        ),
        pytest.param({"runAsUser": -1}, [f"spec.securityContext.runAsUser: Invalid value: -1: {RANGE}"], id="user"),
        pytest.param(
            {"fsGroup": -1, "runAsUser": 2147483648, "runAsGroup": -2, "supplementalGroups": [1, -3]},
            [
                f"spec.securityContext.fsGroup: Invalid value: -1: {RANGE}",
                f"spec.securityContext.runAsUser: Invalid value: 2147483648: {RANGE}",
                f"spec.securityContext.runAsGroup: Invalid value: -2: {RANGE}",
                f"spec.securityContext.supplementalGroups[1]: Invalid value: -3: {RANGE}",
            ],
            id="all-in-order",
        ),
        pytest.param(
            {"fsGroupChangePolicy": "Never", "supplementalGroupsPolicy": "Some", "seLinuxChangePolicy": "X"},
            [
                'spec.securityContext.fsGroupChangePolicy: Unsupported value: "Never": '
                'supported values: "Always", "OnRootMismatch"',
                'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "Some": '
                'supported values: "Merge", "Strict"',
                'spec.securityContext.seLinuxChangePolicy: Unsupported value: "X": '
                'supported values: "MountOption", "Recursive"',
            ],
            id="policies",
        ),
        pytest.param(
            {"seccompProfile": {"type": "Localhost"}},
            [
                "spec.securityContext.seccompProfile.localhostProfile: Required value: "
                "must be set when seccomp type is Localhost"
            ],
            id="seccomp-without-a-profile",
        ),
        pytest.param(
            {"seccompProfile": {"type": "Localhost", "localhostProfile": "/a/../b"}},
            [
                'spec.securityContext.seccompProfile.localhostProfile: Invalid value: "/a/../b": '
                "must be a relative path",
                'spec.securityContext.seccompProfile.localhostProfile: Invalid value: "/a/../b": '
                "must not contain '..'",
            ],
            id="seccomp-path",
        ),
        pytest.param(
            {"seccompProfile": {"type": "Mine"}, "appArmorProfile": {}},
            [
                'spec.securityContext.seccompProfile.type: Unsupported value: "Mine": '
                'supported values: "Localhost", "RuntimeDefault", "Unconfined"',
                "spec.securityContext.appArmorProfile.type: Required value: "
                "type is required when appArmorProfile is set",
            ],
            id="profile-types",
        ),
        pytest.param(
            {"appArmorProfile": {"type": "Unconfined", "localhostProfile": "x"}},
            [
                'spec.securityContext.appArmorProfile.localhostProfile: Invalid value: "x": '
                "can only be set when AppArmor type is Localhost"
            ],
            id="app-armor-profile-too-much",
        ),
        pytest.param(
            {"sysctls": [{"name": "kernel.sem", "value": "1"}, {"name": "kernel.sem", "value": "2"}, {"name": ""}]},
            [
                'spec.securityContext.sysctls[1].name: Duplicate value: "kernel.sem"',
                "spec.securityContext.sysctls[2].name: Required value",
            ],
            id="sysctls",
        ),
        pytest.param(
            {"sysctls": [{"name": "Kernel", "value": "1"}]},
            [
                'spec.securityContext.sysctls[0].name: Invalid value: "Kernel": must have at most 253 characters and '
                "match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
            ],
            id="sysctl-name",
        ),
    ],
)
def test_of_a_pod(context: dict[str, Any], expected: list[str]) -> None:
    assert faults(securityContext=context) == expected


def test_sysctls_of_namespaces_shared_with_the_host_are_refused() -> None:
    context = {"sysctls": [{"name": "net/ipv4/ip_forward", "value": "1"}, {"name": "kernel.shmmax", "value": "1"}]}
    assert faults(securityContext=context) == []
    assert faults(securityContext=context, hostNetwork=True, hostIPC=True) == [
        'spec.securityContext.sysctls[0].name: Invalid value: "net/ipv4/ip_forward": '
        "may not be specified when 'hostNetwork' is true",
        'spec.securityContext.sysctls[1].name: Invalid value: "kernel.shmmax": '
        "may not be specified when 'hostIPC' is true",
    ]


def test_processes_are_shared_with_the_pod_or_with_the_host() -> None:
    assert faults(shareProcessNamespace=True) == []
    assert faults(shareProcessNamespace=True, hostPID=True) == [
        "spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"
    ]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        pytest.param({"runAsUser": 1, "privileged": True, "procMount": "Default"}, [], id="good"),
        pytest.param(
            {"runAsUser": -1, "runAsGroup": -1},
            [
                f"spec.containers[0].securityContext.runAsUser: Invalid value: -1: {RANGE}",
                f"spec.containers[0].securityContext.runAsGroup: Invalid value: -1: {RANGE}",
            ],
            id="ids",
        ),
        pytest.param(
            {"procMount": "Half"},
            [
                'spec.containers[0].securityContext.procMount: Unsupported value: "Half": '
                'supported values: "Default", "Unmasked"'
            ],
            id="proc-mount",
        ),
        pytest.param(
            {"procMount": "Unmasked"},
            [
                'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": '
                "`hostUsers` must be false to use `Unmasked`"
            ],
            id="unmasked",
        ),
        pytest.param(
            {"allowPrivilegeEscalation": False, "privileged": True},
            [
                "spec.containers[0].securityContext: Invalid value: "
                '{"allowPrivilegeEscalation":false,"privileged":true}: '
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            ],
            id="escalation",
        ),
    ],
)
def test_of_a_container(context: dict[str, Any], expected: list[str]) -> None:
    assert faults(container=context) == expected


def test_unmasked_needs_users_of_its_own() -> None:
    assert faults(container={"procMount": "Unmasked"}, hostUsers=False) == []


def test_linux_pod_has_no_windows_options() -> None:
    assert faults(os={"name": "linux"}, container={"windowsOptions": {}}) == [
        "spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"
    ]


def test_windows_pod_has_nothing_of_linux() -> None:
    context = {"runAsUser": 1, "fsGroup": 2, "windowsOptions": {"runAsUserName": "me"}}
    assert faults(
        os={"name": "windows"}, securityContext=context, hostPID=False, hostUsers=False, container={"privileged": True}
    ) == [
        f"spec.{at}: Forbidden: cannot be set for a windows pod"
        for at in (
            "securityContext.fsGroup",
            "securityContext.runAsUser",
            "hostUsers",
            "containers[0].securityContext.privileged",
        )
    ]
    assert faults(os={"name": "windows"}, hostPID=False) == []
