"""What is remembered of a node's attachments."""

from doorman.controllers.volumes.attachment_memory import AttachmentMemory
from doorman.semantics.volumes.csi_volumes import CsiVolume


def test_what_is_about_others_is_forgotten() -> None:
    memory = AttachmentMemory()
    memory.known = {name: CsiVolume(driver="d", handle=name) for name in ("own", "gone")}
    memory.unused_since = {"own": 1.0, "gone": 1.0}
    memory.timed = {"own", "gone"}
    memory.told = {"wanted", "gone"}
    memory.failures = {"own": "x", "wanted": "x", "both": "x"}
    memory.sent = {"own": "v", "wanted": "v", "gone": "v"}
    memory.keep(own=("own", "both"), wanted=("wanted", "both"))
    assert list(memory.known) == list(memory.unused_since) == ["own"]
    assert (memory.timed, memory.told) == ({"own"}, {"wanted"})
    assert (list(memory.failures), list(memory.sent)) == (["both"], ["wanted"])
    memory.keep(own=(), wanted=())
    assert memory.is_empty
