"""Opens the store that the settings ask for: in memory, in a directory, or an etcd cluster."""

import asyncio
import logging
from typing import Final

from doorman.api.scheme import Scheme
from doorman.base.clock import Clock
from doorman.runtime.settings import Settings
from doorman.store.etcd.etcd_settings import EtcdSettings
from doorman.store.memory_store import MemoryStore
from doorman.store.sqlite_store import SqliteStore
from doorman.store.store_contract import Store, Unusable

WAIT_SECONDS: Final = 1.0
TOLD_SECONDS: Final = 10.0
_HINTS: Final = {
    True: "it is spoken to with --etcd-cafile, --etcd-certfile and --etcd-keyfile",
    False: "is that where etcd's clients ask? One with certificates has https",
}
"""By whether it is spoken to in secret."""

_log: Final = logging.getLogger("doorman.etcd")


async def open_store(settings: Settings, scheme: Scheme, clock: Clock) -> Store:
    """Raises `Unusable`."""
    if settings.etcd is not None:
        return await _open_etcd(settings.etcd, scheme, clock)
    return MemoryStore() if settings.data_dir is None else await SqliteStore.open(settings.data_dir)


async def _open_etcd(settings: EtcdSettings, scheme: Scheme, clock: Clock) -> Store:
    """Waits for an etcd that is not there, and says so; what waiting does not mend is told at once."""
    # Loaded when it is wanted: it takes time to start.
    from doorman.server.codec.etcd_objects import EtcdObjects
    from doorman.store.etcd.etcd_client import EtcdClient, EtcdError
    from doorman.store.etcd.etcd_leases import EtcdLeases
    from doorman.store.etcd.etcd_reader import is_passing
    from doorman.store.etcd.etcd_store import EtcdStore

    try:
        client = EtcdClient(settings.servers, settings.tls)
    except OSError as error:
        raise Unusable(
            f"cannot read {error.filename}: {error.strerror}", "see --etcd-cafile, --etcd-certfile"
        ) from error
    codec = EtcdObjects(scheme.kinds, scheme.schema, event_seconds=settings.event_seconds)
    leases = EtcdLeases(client, clock, settings.lease_reuse_seconds)
    told = 0.0
    while True:
        try:
            return await EtcdStore.open(client, codec, settings.prefix, leases, settings.compaction_seconds)
        except EtcdError as error:
            if not is_passing(error):
                raise Unusable(
                    f"etcd at {', '.join(settings.servers)} does not serve: {error.args[0]}",
                    "see --etcd-servers, --etcd-cafile and --etcd-certfile",
                ) from error
            now = asyncio.get_running_loop().time()
            if now >= told + TOLD_SECONDS:
                told = now
                hint = _HINTS[settings.servers[0].startswith("https:")]
                where = ", ".join(settings.servers)
                _log.warning("waiting for etcd at %s: %s; hint: %s", where, error.args[0], hint)
            await asyncio.sleep(WAIT_SECONDS)
