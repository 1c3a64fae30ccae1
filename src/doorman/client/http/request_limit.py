"""`--kube-api-qps` and `--kube-api-burst`: so many requests at once, so many a second."""

from doorman.base.clock import Clock, sleep


class RequestLimit:
    def __init__(self, clock: Clock, *, qps: float, burst: int) -> None:
        """`qps` of 0 or less: no limit."""
        self._clock = clock
        self._qps = qps
        self._burst = float(max(burst, 1))
        self._tokens = self._burst
        self._at = clock.now()

    async def take(self) -> None:
        """One token, waited for in the order of asking."""
        if self._qps <= 0:
            return
        now = self._clock.now()
        self._tokens = min(self._burst, self._tokens + max(now - self._at, 0.0) * self._qps)
        self._at = now
        self._tokens -= 1.0
        if self._tokens < 0.0:
            await sleep(self._clock, -self._tokens / self._qps)
