"""What is said before anything is started."""

import subprocess
import sys
import tempfile

import pytest

from doorman.runtime.real_time.serve import serve
from doorman.runtime.settings import Settings
from doorman.store.store_contract import Unusable


def test_machine_without_room_for_temporary_files_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with pytest.raises(Unusable, match="no directory for temporary files") as refused:
        serve(Settings(), lambda _address, _kubeconfig: None)
    assert "TMPDIR" in refused.value.hint


_ORDER = """
import subprocess, sys
import doorman.runtime.real_time.front_process

def started(self: object) -> tuple[object, object]:
    print([name in sys.modules for name in ("doorman.server.pipeline", "doorman.runtime.real_time.running_server")])
    raise KeyboardInterrupt

doorman.runtime.real_time.front_process.Front._start = started
from doorman.runtime.real_time.serve import serve
from doorman.runtime.settings import Settings
try:
    serve(Settings(secure_port=0), print)
except KeyboardInterrupt:
    pass
"""


@pytest.mark.slow
def test_the_process_that_holds_connections_is_started_before_the_program_is_loaded() -> None:
    told = subprocess.run([sys.executable, "-c", _ORDER], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[False, False]"
