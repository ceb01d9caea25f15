"""`llms.txt` and `llms-full.txt`: the documents for agents that write tests with Soundstage."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

from site_api import public_modules
from site_names import signature, summary

COMMENT: Final = re.compile(r"^<!-- .* -->\n", re.MULTILINE)
HEAD: Final = """# Soundstage

> End-to-end tests for LLM applications and agents on a closed set: the app is real, the model is scripted, recorded
> or faulty, the world around it is virtual, and everything that happens lands in one journal that tests assert on.
> Python 3.11 or later; pytest plugin; offline.

"""


def llms_txt(nav: list[Any], pages: dict[str, str]) -> str:
    """The list of pages, in the order of the navigation, each with its first sentence.

    Args:
        nav: the navigation, as in mkdocs.yml.
        pages: the Markdown of every page, by place.
    """
    lines = [HEAD + "Everything in one file: [llms-full.txt](llms-full.txt)\n"]
    for part in nav:
        for title, value in part.items():
            lines.append(f"## {title}\n")
            lines += [
                f"- [{name}]({_address(place)}): {_first(pages[place])}"
                for name, place in _leaves(title, value)
            ]
            lines.append("")
    return "\n".join(lines)


def llms_full_txt(nav: list[Any], pages: dict[str, str]) -> str:
    """All guides one after another, and every public name with its signature and first sentence."""
    places = [place for part in nav for title, value in part.items() for _, place in _leaves(title, value)]
    guides = [COMMENT.sub("", pages[one]) for one in places if not one.startswith("reference/api/")]
    return HEAD + "\n\n".join([*guides, _names()])


def _leaves(title: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield title, value
        return
    for part in value:
        for name, inner in part.items():
            yield from _leaves(name, inner)


def _address(place: str) -> str:
    return re.sub(r"\.md$", ".html", place)


def _first(text: str) -> str:
    """The first sentence of a page below its title."""
    body = COMMENT.sub("", text).strip().partition("\n")[2]
    plain = next(
        (one for one in body.strip().split("\n\n") if not one.startswith(("#", ":::", "|", "```"))), ""
    )
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(plain.split()))
    return re.split(r"(?<=[.:])\s", plain)[0]


def _names() -> str:
    lines = ["# Every public name"]
    for module in public_modules():
        lines.append(f"\n## {module.name}\n\n{module.summary}\n")
        loaded = importlib.import_module(module.name)
        lines += [_line(name, getattr(loaded, name)) for name in module.own]
    return "\n".join(lines) + "\n"


def _line(name: str, thing: Any) -> str:
    called = signature(thing) if inspect.isclass(thing) or inspect.isroutine(thing) else ""
    return f"- `{name}{called}`: {summary(thing)}"
