"""Compaction: etcd keeps every version of every key until it is told which ones nobody needs.

Kubernetes' own way, so that among any number of API servers of either kind one does it: whoever moves the key
`compact_rev_key` from the version he knows to the next one compacts what was the newest revision at the round before.
The others learn of it, and of the revision that is next.
"""

import asyncio
import logging
from typing import Final

from doorman.store.etcd.etcd_client import EtcdClient, EtcdError
from doorman.store.etcd.etcd_messages import BY_VERSION, EQUAL, MESSAGES

KEY: Final = b"compact_rev_key"

_log: Final = logging.getLogger("doorman.etcd")


class EtcdCompaction:
    def __init__(self, client: EtcdClient) -> None:
        self._client = client
        self._round = 0
        self._revision = 0

    async def run(self, interval_seconds: float) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(interval_seconds)
            try:
                await self.compact()
            except EtcdError as error:
                _log.warning("etcd was not compacted: %s", error)

    async def compact(self) -> int:
        """One round; the revision that was compacted, 0 when none was."""
        compare = MESSAGES["Compare"](result=EQUAL, target=BY_VERSION, key=KEY, version=self._round)
        put = MESSAGES["RequestOp"](request_put=MESSAGES["PutRequest"](key=KEY, value=str(self._revision).encode()))
        get = MESSAGES["RequestOp"](request_range=MESSAGES["RangeRequest"](key=KEY, limit=1))
        answer = await self._client.transact(MESSAGES["TxnRequest"](compare=[compare], success=[put], failure=[get]))
        if not answer.succeeded:
            found = answer.responses[0].response_range.kvs
            self._round = found[0].version if found else 0
            self._revision = answer.header.revision
            return 0
        self._round += 1
        compacted, self._revision = self._revision, answer.header.revision
        if compacted:
            await self._client.compact(compacted)
        return compacted
