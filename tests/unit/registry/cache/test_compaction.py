from doorman.registry.cache.compaction import Compaction


class _Clock:
    def __init__(self) -> None:
        self.at = 1000.0

    def now(self) -> float:
        return self.at


def test_revision_is_readable_for_five_minutes_after_the_next_one_was_noted() -> None:
    clock = _Clock()
    compaction = Compaction(clock)
    assert compaction.oldest(500) == 0
    clock.at += 10
    assert compaction.oldest(507) == 0
    clock.at += 290
    assert compaction.oldest(600) == 500
    clock.at += 10
    assert compaction.oldest(600) == 507


def test_nothing_is_forgotten_while_nobody_reads() -> None:
    clock = _Clock()
    compaction = Compaction(clock)
    clock.at += 3600
    assert compaction.oldest(500) == 0
