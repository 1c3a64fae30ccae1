"""Where Doorman keeps things when it is not told."""

import os
from pathlib import Path


def default_data_dir() -> Path:
    """In the user's state folder."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "doorman"
