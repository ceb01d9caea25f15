"""Links that leave `docs/`: what they name becomes a page of the site, so that no link ends at a repository."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = "repository"
LINK: Final = re.compile(r"(?<=\]\()(?P<target>[^)\s:#]+)(?P<anchor>#[^)\s]*)?(?=\))")
FENCE: Final = re.compile(r"^( *```.*?^ *```)", re.DOTALL | re.MULTILINE)
LANGUAGES: Final = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".json": "json"}


def place_of(path: str) -> str:
    """Where a file of the repository is in the site: `docs/tapes.md` at `tapes.md`, others below `repository/`."""
    inside = path.removeprefix("docs/")
    if inside != path:
        return inside
    return f"{FOLDER}/{path}" if path.endswith(".md") else f"{FOLDER}/{path}.md"


def relinked(text: str, path: str) -> str:
    """The Markdown of a file of the repository with its links as they are in the site."""

    def moved(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found["target"]))
        return posixpath.relpath(place_of(target), posixpath.dirname(place_of(path)) or ".") + (
            found["anchor"] or ""
        )

    return _outside_of_code(text, lambda prose: LINK.sub(moved, prose))


def targets(text: str, path: str) -> set[str]:
    """The files of the repository, outside of `docs/`, that a file links to."""
    found: set[str] = set()

    def noted(prose: str) -> str:
        found.update(
            posixpath.normpath(posixpath.join(posixpath.dirname(path), one["target"]))
            for one in LINK.finditer(prose)
        )
        return prose

    _outside_of_code(text, noted)
    return {one for one in found if not one.startswith("docs/") and (ROOT / one).is_file()}


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if number % 2 else change(part) for number, part in enumerate(FENCE.split(text)))


def repository_pages(asked: set[str]) -> dict[str, str]:
    """The Markdown of a page for each file, and for those that they link to, by place."""
    pages: dict[str, str] = {}
    waiting = set(asked)
    while waiting:
        path = waiting.pop()
        text = (ROOT / path).read_text()
        if path.endswith(".md"):
            pages[place_of(path)] = relinked(text, path)
            waiting |= {one for one in targets(text, path) if place_of(one) not in pages}
        else:
            pages[place_of(path)] = (
                f"# {path}\n\n```{LANGUAGES.get(Path(path).suffix, 'text')}\n{text.rstrip()}\n```\n"
            )
    return pages
