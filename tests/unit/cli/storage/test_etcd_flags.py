"""Flags of etcd: what they come to, and what is refused."""

import click
import pytest

from doorman.cli.storage.etcd_flags import etcd_options, etcd_settings_of
from doorman.store.etcd.etcd_settings import EtcdSettings


def settings_of(*flags: str) -> EtcdSettings | None:
    @click.command
    @click.option("--in-memory", is_flag=True)
    @etcd_options
    def command(**_: object) -> None: ...

    return etcd_settings_of(command.make_context("up", list(flags)).params)


@pytest.mark.parametrize(
    ("flags", "servers"),
    [
        pytest.param(["--etcd-servers=http://a:1, http://b:2/"], ("http://a:1", "http://b:2"), id="two"),
        pytest.param(["--etcd-servers=https://[::1]:2379"], ("https://[::1]:2379",), id="ipv6"),
    ],
)
def test_servers(flags: list[str], servers: tuple[str, ...]) -> None:
    found = settings_of(*flags)
    assert found is not None
    assert found.servers == servers


def test_no_servers_no_etcd() -> None:
    assert settings_of() is None


def test_defaults_are_those_of_kube_apiserver() -> None:
    found = settings_of("--etcd-servers=http://a:1")
    assert found == EtcdSettings(servers=("http://a:1",))


def test_flags_of_kube_apiserver() -> None:
    found = settings_of(
        "--etcd-servers=http://a:1", "--etcd-prefix=other", "--etcd-compaction-interval=0", "--event-ttl=2h",
        "--etcd-healthcheck-timeout=3s", "--etcd-readycheck-timeout=4s", "--lease-reuse-duration-seconds=5",
    )  # fmt: skip
    assert found == EtcdSettings(
        servers=("http://a:1",), prefix="/other", compaction_seconds=0, event_seconds=7200, healthcheck_seconds=3,
        readycheck_seconds=4, lease_reuse_seconds=5,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(["--etcd-servers=127.0.0.1:2379"], "takes URLs with ports", id="no-scheme"),
        pytest.param(["--etcd-servers=http://127.0.0.1"], "takes URLs with ports", id="no-port"),
        pytest.param(["--etcd-servers=http://127.0.0.1:etcd"], "takes URLs with ports", id="no-number"),
        pytest.param(["--etcd-servers=http://a:1/path"], "takes URLs with ports", id="path"),
        pytest.param(["--etcd-servers=,"], "takes URLs with ports", id="none"),
        pytest.param(["--etcd-servers=http://a:1,https://b:1"], "mixes http and https", id="mixed"),
        pytest.param(["--etcd-servers=http://a:1", "--in-memory"], "exclude each other", id="in-memory"),
        pytest.param(["--etcd-servers=http://a:1", "--etcd-certfile=c"], "go together", id="no-key"),
        pytest.param(
            ["--etcd-servers=http://a:1", "--storage-media-type=application/vnd.kubernetes.protobuf"],
            "--storage-media-type is application/json",
            id="protobuf",
        ),
        pytest.param(
            ["--etcd-servers=http://a:1", "--etcd-servers-overrides=/events#http://b:1"],
            "not supported",
            id="overrides",
        ),
    ],
)
def test_what_is_refused(flags: list[str], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        settings_of(*flags)
