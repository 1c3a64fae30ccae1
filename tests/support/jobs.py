"""Jobs as they are when they are checked: with defaults and their generated selector."""

from typing import Any

from doorman.registry.kinds.job_strategy import generate_selector
from doorman.validation.apps.workload_defaults import default_job


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def template(**pod: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never", **pod}}


def job(pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    doc = {"metadata": {"name": "j", "uid": "u"}, "spec": {"template": template(**(pod or {})), **spec}}
    default_job(doc)
    generate_selector(doc)
    return doc
