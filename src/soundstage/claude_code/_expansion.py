"""The text of a slash command as the model should get it. Pure.

How it works. The CLI reads the front matter, puts values in the place of `$ARGUMENTS`, `$0`, `$name` and its own
variables in one pass, so that a value is not looked at again except for variables, and runs shell commands last. Here
a text is taken apart by the same rules into pieces: those that are known, and those that only a run can tell. All
rules were measured on the wire with Claude Code 2.1.330; `tests/claude_code/test_expansion.py` compares them
with the CLI that is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.claude_code._words import argument_words
from soundstage.scripts import SourceReport, read_source

_FRONT_MATTER: Final = re.compile(r"\A---\s*\n(?P<yaml>.*?)---[\s\ufeff]*", re.DOTALL)
_PLAIN: Final = re.compile(r"^(?P<key>[\w-]+):[ \t]+(?P<value>[^\"'|>\s][^\n]*?)[ \t\r]*$", re.MULTILINE)
_FLOW: Final = re.compile(r"\[[^\[\]]*\]|\{[^{}]*\}")  # a list or a mapping in one line stays what it is
_SHELL: Final = r"(?P<shell>!`[^`\n]+`|```!.*?```)"
_ESCAPE: Final = r"(?P<escape>(?<!\\)\\)?"
_VALUE: Final = r"(?P<whole>ARGUMENTS)(?:\[(?P<index>\d+)\])?|(?P<number>\d+)(?!\w)"
_VARIABLE: Final = r"\$\{(?P<variable>CLAUDE_\w+)\}"
_NO_NAME: Final = r"(?P<name>(?!))"


class CommandPiece(NamedTuple):
    """A part of a command as the model should get it.

    Args:
        offset: where it begins in the text of the command.
        text: what becomes of it, as far as that is known.
        certain: whether it is: the output of a shell command and a variable without a value are not.
    """

    offset: int
    text: str
    certain: bool = True


def expand_command(
    file: str | Path,
    arguments: str = "",
    *,
    plugin_root: str = "",
    session_id: str = "",
    plugin_data: str = "",
    project_dir: str = "",
    effort: str = "",
) -> str:
    r"""Return the text of a command's file as the model gets it, by the rules of the CLI.

    `$ARGUMENTS` is everything, `$0` and `$ARGUMENTS[0]` the first word, `$who` the word whose name comes at this place
    in the `arguments` of the front matter. A number without a word stays as it is written, a name without one becomes
    empty, and `\$1` becomes `$1`. Where nothing takes the arguments, they are appended. Shell commands (`` !`...` ``)
    and `@files` are not carried out here.

    Args:
        file: the path of the file, or its text. The CLI keeps `\r\n`, which `Path.read_text` does not.
        arguments: what comes after the command's name.
        plugin_root: `${CLAUDE_PLUGIN_ROOT}`; like the others, it stays as it is written unless given.
        session_id: `${CLAUDE_SESSION_ID}`.
        plugin_data: `${CLAUDE_PLUGIN_DATA}`.
        project_dir: `${CLAUDE_PROJECT_DIR}`.
        effort: `${CLAUDE_EFFORT}`.

    >>> expand_command("---\ndescription: x\narguments: [who]\n---\nGreet $who, then $1.", "Bob Ann")
    'Greet Bob, then Ann.'
    >>> expand_command("Look around.", "the attic")
    'Look around.\n\nARGUMENTS: the attic'
    """
    text = file.read_bytes().decode() if isinstance(file, Path) else file
    names, body = _read(text.removeprefix("\ufeff"))
    variables = {
        "CLAUDE_PLUGIN_ROOT": plugin_root,
        "CLAUDE_SESSION_ID": session_id,
        "CLAUDE_PLUGIN_DATA": plugin_data,
        "CLAUDE_PROJECT_DIR": project_dir,
        "CLAUDE_EFFORT": effort,
    }
    known = {name: value for name, value in variables.items() if value}
    return "".join(piece.text for piece in command_pieces(body, arguments, names=names, variables=known))


def _read(file: str) -> tuple[tuple[str, ...], str]:
    """The names of a command's arguments, and its body."""
    found = _FRONT_MATTER.match(file)
    if found is None:
        return (), file
    front = _yaml(found["yaml"]) or _yaml(quoted_front_matter(found["yaml"]))
    return argument_names(front.get("arguments")), file[found.end() :]


def _yaml(text: str) -> dict[str, Any]:
    report = SourceReport("")
    node = read_source(text, report, form="yaml") if text.strip() else None
    return node.value if node is not None and isinstance(node.value, dict) and not report.problems else {}


def quoted_front_matter(text: str) -> str:
    """Values of front matter in quotes, as the CLI puts them where YAML cannot be read otherwise.

    >>> quoted_front_matter("description: one: two")
    "description: 'one: two'"
    """

    def quoted(found: re.Match[str]) -> str:
        if _FLOW.fullmatch(found["value"]):
            return found[0]
        return f"{found['key']}: '{found['value'].replace(chr(39), chr(39) * 2)}'"

    return _PLAIN.sub(quoted, text)


def argument_names(value: Any) -> tuple[str, ...]:
    """The names in the `arguments` of a front matter: a list, or a text with spaces between them.

    >>> argument_names("who what")
    ('who', 'what')
    >>> argument_names(["who", 2])
    ('who',)
    """
    names = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(name for name in names if isinstance(name, str) and name.strip() and not name.isdigit())


def command_pieces(
    body: str,
    arguments: str = "",
    *,
    names: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> tuple[CommandPiece, ...]:
    """The parts of a command in order; joined, they are what the model should get.

    Args:
        body: the text of the command, below its front matter.
        arguments: what comes after the command's name.
        names: the `arguments` of the front matter; see `argument_names`.
        variables: values of the CLI's own variables, by name.

    >>> [piece.text for piece in command_pieces("Say $0 on !`date`.", "hi")]
    ['Say ', 'hi', ' on ', '!`date`', '.']
    """
    values = _Values(arguments, tuple(names), variables or {})
    pieces = [piece for piece in values.pieces(body) if piece.text or not piece.certain]
    if arguments and not values.used:
        pieces.append(CommandPiece(0, values.filled(f"\n\nARGUMENTS: {arguments}")))
    return tuple(pieces)


class _Values:
    """The values of placeholders. `used` says whether the arguments, or some of them, were asked for."""

    def __init__(self, arguments: str, names: tuple[str, ...], variables: Mapping[str, str]) -> None:
        self.used = False
        self._arguments = arguments
        self._words = argument_words(arguments)
        self._names = names
        self._variables = variables
        named = rf"(?P<name>{'|'.join(map(re.escape, names))})(?![\[\w])" if names else _NO_NAME
        inner = rf"{_ESCAPE}\$(?:{named}|{_VALUE})|{_VARIABLE}"
        self._inner = re.compile(inner, re.ASCII)
        self._outer = re.compile(f"{_SHELL}|{inner}", re.ASCII | re.DOTALL)

    def pieces(self, body: str) -> Iterator[CommandPiece]:
        begin = 0
        for found in self._outer.finditer(body):
            yield CommandPiece(begin, body[begin : found.start()])
            if found["shell"]:
                text = self._inner.sub(lambda inside: self._piece(inside).text, found[0])
                yield CommandPiece(found.start(), text, certain=False)
            else:
                yield self._piece(found)
            begin = found.end()
        yield CommandPiece(begin, body[begin:])

    def _piece(self, found: re.Match[str]) -> CommandPiece:
        if found["variable"]:
            text = self.filled(found[0])
            return CommandPiece(found.start(), text, certain=found["variable"] in self._variables)
        if found["escape"]:
            return CommandPiece(found.start(), found[0][1:])
        value = self._value(found)
        self.used = self.used or value is not None
        return CommandPiece(found.start(), self.filled(value) if value is not None else found[0])

    def _value(self, found: re.Match[str]) -> str | None:
        if found["name"]:
            return (self._word(self._names.index(found["name"]))) or ""
        number = found["index"] or found["number"]
        return self._word(int(number)) if number else self._arguments

    def _word(self, number: int) -> str | None:
        return self._words[number] if number < len(self._words) else None

    def filled(self, text: str) -> str:
        """`text` with the values of variables, which arguments may name too."""
        return re.sub(_VARIABLE, lambda found: self._variables.get(found["variable"], found[0]), text)
