"""A plan as one page that needs nothing else: its document is in it, and a script that draws it."""

from importlib.resources import files
from typing import Final

import msgspec

from doorman.plan.plan_result import Plan

_PLACE: Final = "@PLAN@"


def plan_html(plan: Plan) -> str:
    page = files("doorman.plan").joinpath("data", "plan.html").read_text(encoding="utf-8")
    # Whatever people have put into names and messages, nothing in it may end the script it stands in.
    document = msgspec.json.encode(plan).decode().replace("<", "\\u003c")
    return page.replace(_PLACE, document, 1)
