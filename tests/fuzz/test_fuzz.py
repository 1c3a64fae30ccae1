"""Whatever is sent, no answer is the server's fault, no reader fails, and the server starts again; see fuzz.py."""

from pathlib import Path

import pytest

from support.fuzzing import fuzz

REQUESTS = 5_000


@pytest.mark.slow
def test_nothing_that_is_sent_or_stored_is_the_servers_fault(tmp_path: Path) -> None:
    """Five thousand requests of a seed, and all that once found a bug."""
    found = fuzz(tmp_path, 1, range(REQUESTS))
    assert found.faults == {}
    assert found.codes[200] > 0
    assert found.codes[201] > 0
