"""How to reach an etcd cluster and how to use it: kube-apiserver's `--etcd-*` flags."""

import msgspec

from doorman.store.etcd.etcd_tls import EtcdTls
from doorman.store.store_contract import ANSWER_SECONDS


class EtcdSettings(msgspec.Struct, frozen=True, kw_only=True):
    servers: tuple[str, ...]
    prefix: str = "/registry"
    tls: EtcdTls = EtcdTls()
    compaction_seconds: float = 300.0
    """0: this server compacts nothing."""
    event_seconds: int = 3600
    lease_reuse_seconds: int = 60
    healthcheck_seconds: float = ANSWER_SECONDS
    readycheck_seconds: float = ANSWER_SECONDS
    reconciles_endpoints: bool = True
    """False: this server does not appear behind the service `kubernetes`."""
