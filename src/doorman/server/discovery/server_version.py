"""What the server says it is: the Kubernetes release whose behaviour it has."""

from typing import Final

from doorman.api.well_known import KUBERNETES_VERSION

VERSION: Final = {
    "major": "1",
    "minor": "37",
    "emulationMajor": "1",
    "emulationMinor": "37",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "36",
    "gitVersion": KUBERNETES_VERSION,
    "gitCommit": "d00d000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2026-08-01T00:00:00Z",
    "goVersion": "go1.26.0",
    "compiler": "gc",
    "platform": "linux/amd64",
}
