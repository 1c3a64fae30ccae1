"""What all tests share: laws are tried on the same examples every time. `HYPOTHESIS_PROFILE=explore` tries others."""

import os

from hypothesis import settings

settings.register_profile("gate", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))
