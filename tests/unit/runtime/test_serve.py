"""What is said before anything is started."""

import tempfile

import pytest

from doorman.runtime.serve import serve
from doorman.runtime.settings import Settings
from doorman.store.store_contract import Unusable


def test_machine_without_room_for_temporary_files_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with pytest.raises(Unusable, match="no directory for temporary files") as refused:
        serve(Settings(), lambda _address, _kubeconfig: None)
    assert "TMPDIR" in refused.value.hint
