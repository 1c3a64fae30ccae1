"""Events, as far as their age is looked at."""

from doorman.api.views.meta import ObjectMeta, View


class EventSeries(View, frozen=True, kw_only=True):
    last_observed_time: str = ""


class Event(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    event_time: str | None = ""
    last_timestamp: str | None = ""
    series: EventSeries | None = None

    @property
    def written(self) -> str:
        """When it was last written, to the second and without a zone: such texts are in order of time."""
        series = self.series.last_observed_time if self.series is not None else ""
        newest = max(self.metadata.creation_timestamp, self.last_timestamp or "", self.event_time or "", series)
        return newest[:19]
