"""The messages that docs/troubleshooting.md explains are those of the sources, word by word."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
QUOTED = re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)
GAP = "…"  # what differs, on the page and here


def written(node):
    """A text of the sources with a gap for each value that is put in, or None for another node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(written(part) or GAP for part in node.values)
    return None


@cache
def texts():
    """Every text of the sources in which an error could be told, docstrings left out."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text())
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        found |= {written(node) for node in ast.walk(tree) if id(node) not in prose}
    return found - {None}


def is_told(message):
    """Whether one text of the sources is this message, from its beginning; what is in a gap may be anything."""
    words = r".+".join(map(re.escape, message.split(GAP)))
    return any(re.fullmatch(words, text, re.DOTALL) for text in texts())


@pytest.mark.parametrize("message", QUOTED)
def test_a_message_that_is_explained_is_in_the_sources(message):
    assert is_told(message), f"no text of the sources is {message!r}"


@pytest.mark.parametrize("message", ["no rule replies to …", "git is not", "Everything that is raised"])
def test_another_wording_or_a_part_of_a_message_is_not_found(message):
    assert not is_told(message)


def test_the_page_explains_some_messages_each_a_single_time():
    assert len(QUOTED) > 20
    assert len(set(QUOTED)) == len(QUOTED)
    sections = re.split(r"^### .+$", PAGE, flags=re.MULTILINE)[1:]
    assert all(len(text.split("\n## ")[0].split()) >= 6 for text in sections), "each says what to do"
