"""What pyproject.toml cannot say: the README as a package index shows it, where relative links lead nowhere.

With a `Repository` among the project's URLs links go there; without one their text stays and the link goes.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?!https?://)(?P<target>[^)\s]+)\)")
_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE)


def index_readme(readme: str, repository: str) -> str:
    def followed(link: re.Match[str]) -> str:
        if not repository:
            return link["text"]
        target = link["target"]
        return f"[{link['text']}]({repository}{target if target.startswith('#') else f'/blob/HEAD/{target}'})"

    return _LINK.sub(followed, _COMMENT.sub("", readme))


if __name__ == "__main__":
    folder = Path(__file__).parent
    urls = tomllib.loads((folder / "pyproject.toml").read_text())["project"].get("urls", {})
    setup(
        long_description=index_readme((folder / "README.md").read_text(), urls.get("Repository", "")),
        long_description_content_type="text/markdown",
    )
