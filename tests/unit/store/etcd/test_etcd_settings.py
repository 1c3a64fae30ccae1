"""What is so when nothing is said: kube-apiserver's defaults."""

from doorman.store.etcd.etcd_settings import EtcdSettings


def test_defaults_are_those_of_kube_apiserver() -> None:
    settings = EtcdSettings(servers=("http://127.0.0.1:2379",))
    assert (settings.prefix, settings.compaction_seconds, settings.event_seconds) == ("/registry", 300.0, 3600)
