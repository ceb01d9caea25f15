"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import typer

from soundstage import cli

FOLDER: Final = "reference/commands"
USUAL: Final = "0 good; 2 wrong usage or bad input."
EXIT: Final = re.compile(r"Exit codes?:? .*?(?:\.(?=\s|$)(?! [a-z])|\Z)", re.DOTALL)

Command = tuple[tuple[str, ...], Any]


@cache
def commands() -> tuple[Command, ...]:
    """Every command with its words, those of wings included: `("soundstage", "tape", "check")`."""
    cli._add_wings("")  # noqa: SLF001  (what `soundstage --help` does)
    return tuple(_walk(typer.main.get_command(cli.app), ("soundstage",)))


def _walk(command: Any, words: tuple[str, ...]) -> Iterator[Command]:
    yield words, command
    for name, part in getattr(command, "commands", {}).items():
        yield from _walk(part, (*words, name))


def command_pages() -> dict[str, str]:
    """The Markdown of each page, by its place: one for each first word."""
    pages: dict[str, list[str]] = {}
    for words, command in commands():
        if len(words) > 1:
            pages.setdefault(f"{FOLDER}/{words[1]}.md", []).append(_section(words, command))
    return {f"{FOLDER}/index.md": _index(), **{place: "\n".join(parts) for place, parts in pages.items()}}


def command_nav() -> list[dict[str, str]]:
    """The reference as a part of the navigation."""
    firsts = [words[1] for words, _ in commands() if len(words) == 2]
    return [{"Overview": f"{FOLDER}/index.md"}, *({word: f"{FOLDER}/{word}.md"} for word in firsts)]


def _index() -> str:
    root = commands()[0][1]
    rows = [
        f"| [`{' '.join(words)}`]({words[1]}.md#{'-'.join(words)}) | {_first(command.help)} |"
        for words, command in commands()[1:]
        if not getattr(command, "commands", None)
    ]
    return "\n".join(
        [
            "# The command line",
            "",
            _clean(root.help),
            "",
            "A command's own codes are on its page. `soundstage COMMAND --help` says the same in a terminal.",
            "",
            *_table(
                "option",
                [one for one in root.params if one.param_type_name == "option"],
                root,
                ("soundstage",),
            ),
            "## Shell completion",
            "",
            "`soundstage --install-completion` teaches your shell (bash, zsh, fish, PowerShell) commands and options;",
            "`soundstage --show-completion bash` prints what it would install, and changes nothing.",
            "",
            "## Commands",
            "",
            "| command | |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def _section(words: tuple[str, ...], command: Any) -> str:
    """A command: usage, help, arguments, options, exit codes. Groups have their help alone."""
    title = f"{'#' * (len(words) - 1)} {' '.join(words)}\n"
    if getattr(command, "commands", None):
        return f"{title}\n{_clean(command.help)}\n"
    usage = command.get_usage(_context(command, words)).removeprefix("Usage: ")
    kinds = {
        kind: [
            one for one in command.params if one.param_type_name == kind and not getattr(one, "hidden", False)
        ]
        for kind in ("argument", "option")
    }
    tables = [
        line for kind, params in kinds.items() if params for line in _table(kind, params, command, words)
    ]
    text = _clean(command.help)
    codes = [] if EXIT.search(text) else [f"Exit codes: {USUAL}", ""]
    return "\n".join([title, "```text", " ".join(usage.split()), "```", "", text, "", *tables, *codes])


def _context(command: Any, words: tuple[str, ...]) -> Any:
    return command.context_class(command, info_name=" ".join(words))


def _table(kind: str, params: list[Any], command: Any, words: tuple[str, ...]) -> list[str]:
    context = _context(command, words)
    rows = [_row(one, context) for one in params]
    return [f"| {kind} | |", "|---|---|", *rows, ""]


def _row(param: Any, context: Any) -> str:
    names, text = param.get_help_record(context) or (param.name, param.help or "")
    return f"| `{_cell(names)}` | {_cell(text).replace('<', '&lt;')} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _clean(text: str | None) -> str:
    """A help text as Markdown: the marks by which lines are kept apart in a terminal go."""
    return "\n".join(line.strip("\b") for line in (text or "").strip().splitlines())


def _first(text: str | None) -> str:
    return " ".join(_clean(text).split("\n\n")[0].split())
