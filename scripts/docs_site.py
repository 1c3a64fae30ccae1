"""What the docs site takes from outside of docs/: README.md as its first page, and what pages link to."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "ARCHITECTURE.md": "ARCHITECTURE.md", "CONTRIBUTING.md": "CONTRIBUTING.md",
         "CHANGELOG.md": "CHANGELOG.md"}  # fmt: skip
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def moved(text: str, folder: Path) -> str:
    """The same page with its links as they are on the site, where docs/ is the top."""

    def target(match: re.Match[str]) -> str:
        path, anchor = match.group(1), match.group(2) or ""
        whole = (folder / path).resolve().relative_to(ROOT)
        name = str(whole)
        found = PAGES.get(name) or name.removeprefix("docs/")
        return f"]({found}{anchor})"

    return LINK.sub(target, text)


def linked() -> set[str]:
    """Files outside of docs/ that pages lead to."""
    found: set[str] = set()
    for page in [*(ROOT / name for name in PAGES), *sorted((ROOT / "docs").glob("*.md"))]:
        for match in LINK.finditer(page.read_text()):
            whole = (page.parent / match.group(1)).resolve().relative_to(ROOT)
            if whole.parts[0] != "docs" and str(whole) not in PAGES and (ROOT / whole).is_file():
                found.add(str(whole))
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=moved((ROOT / name).read_text(), ROOT)))
    for name in sorted(linked()):
        files.append(File.generated(config, name, content=(ROOT / name).read_bytes()))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    return re.sub(r"\]\(\.\./", "](", markdown)
