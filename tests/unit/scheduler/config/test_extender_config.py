"""Extenders as they are written in the configuration."""

from typing import Any

import msgspec
import pytest

from doorman.scheduler.config.config_file import read_config
from doorman.scheduler.config.extender_config import ExtenderEntry, ignored_resources, read_extenders
from doorman.scheduler.extenders.extender import Extender, ExtenderTls, ManagedResource

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def read(*entries: dict[str, Any]) -> tuple[tuple[Extender, ...], list[str]]:
    errors: list[str] = []
    found = read_extenders([msgspec.convert(entry, ExtenderEntry) for entry in entries], errors)
    return found, errors


def test_everything_is_read() -> None:
    (extender,), errors = read(
        {
            "urlPrefix": "http://a/",
            "filterVerb": "f",
            "prioritizeVerb": "p",
            "preemptVerb": "v",
            "bindVerb": "b",
            "weight": 3,
            "httpTimeout": "1m30s",
            "nodeCacheCapable": True,
            "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}, {"name": "example.com/nic"}],
            "ignorable": True,
        }
    )
    assert errors == []
    assert extender == Extender(
        url_prefix="http://a/",
        filter_verb="f",
        prioritize_verb="p",
        preempt_verb="v",
        bind_verb="b",
        weight=3,
        timeout_seconds=90.0,
        node_cache_capable=True,
        managed_resources=(
            ManagedResource(name="example.com/gpu", ignored_by_scheduler=True),
            ManagedResource(name="example.com/nic"),
        ),
        ignorable=True,
    )
    assert ignored_resources([extender]) == ("example.com/gpu",)


@pytest.mark.parametrize(
    ("entry", "tls"),
    [
        pytest.param({}, None, id="plain"),
        pytest.param({"enableHTTPS": True}, ExtenderTls(insecure=True), id="https-trusts-anybody"),
        pytest.param(
            {"enableHTTPS": True, "tlsConfig": {"caData": "Y2E="}}, ExtenderTls(ca_data=b"ca"), id="an-authority"
        ),
        pytest.param(
            {"tlsConfig": {"certFile": "c", "keyFile": "k", "serverName": "s"}},
            ExtenderTls(cert_file="c", key_file="k", server_name="s"),
            id="a-certificate",
        ),
    ],
)
def test_tls(entry: dict[str, Any], tls: ExtenderTls | None) -> None:
    (extender,), errors = read({"urlPrefix": "https://a", "filterVerb": "f", **entry})
    assert errors == []
    assert extender.tls == tls


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param(
            [{"prioritizeVerb": "p", "weight": -1}],
            ["extenders[0].weight: Invalid value: -1: must have a positive weight applied to it"],
            id="weight",
        ),
        pytest.param(
            [{"bindVerb": "b"}, {"bindVerb": "b"}],
            ['extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind'],
            id="two-binders",
        ),
        pytest.param(
            [{"managedResources": [{"name": "cpu"}]}],
            ['extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name'],
            id="no-extended-resource",
        ),
        pytest.param(
            [{"managedResources": [{"name": "a.b/c"}]}, {"managedResources": [{"name": "a.b/c"}]}],
            ['extenders[1].managedResources[0].name: Invalid value: "a.b/c": duplicate extender managed resource name'],
            id="twice",
        ),
        pytest.param(
            [{"httpTimeout": "soon"}], ['extenders[0].httpTimeout: time: invalid duration "soon"'], id="timeout"
        ),
        pytest.param(
            [{"tlsConfig": {"insecure": True, "caFile": "x"}}],
            [
                "extenders[0].tlsConfig: Invalid value: "
                "specifying a root certificates file with the insecure flag is not allowed"
            ],
            id="insecure-with-authority",
        ),
    ],
)
def test_complaints(entries: list[dict[str, Any]], expected: list[str]) -> None:
    assert read(*entries)[1] == expected


def test_those_that_may_be_ignored_come_last() -> None:
    found, _ = read({"urlPrefix": "a", "ignorable": True}, {"urlPrefix": "b"}, {"urlPrefix": "c", "ignorable": True})
    assert [extender.url_prefix for extender in found] == ["b", "a", "c"]


def test_resources_that_only_an_extender_counts_are_not_counted_by_the_scheduler() -> None:
    config = read_config(
        f"{HEAD}extenders: [{{urlPrefix: 'http://a', filterVerb: f, "
        "managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]}]"
    )
    assert config.profiles[0].args.ignored_resources == ("example.com/gpu",)
    assert len(config.extenders) == 1
