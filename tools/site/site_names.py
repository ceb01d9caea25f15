"""A public name as Markdown: its signature, its docstring, and the members that a user can call or read."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

from griffe import Docstring

WIDTH: Final = 96
ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")  # of a default value: another one in each build
MODULES: Final = re.compile(
    r"\b(?:soundstage|typing|msgspec|collections|pathlib|types)\.(?:\w+\.)*(?=[A-Z_a-z])|\b(?:[a-z]\w*\.)*_[a-z]\w*\."
)
HIDDEN: Final = {"object", "Struct", "Generic", "Protocol"}  # bases that tell a user nothing
LISTS: Final = {
    "parameters": "Arguments",
    "attributes": "Attributes",
    "raises": "Raises",
    "returns": "Returns",
}


def described(module: str, name: str, thing: Any) -> str:
    """The section of a name below its module's title."""
    lines = [f"## {name} {{ #{module}.{name} }}", ""]
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return "\n".join([*lines, _value(name, thing), ""])
    lines += [_fence(_head(name, thing)), "", _text(thing), ""]
    for member, inner in _members(thing):
        lines += [
            f"### {name}.{member} {{ #{module}.{name}.{member} }}",
            "",
            _fence(_head(member, inner)),
            "",
        ]
        lines += [_text(inner), ""]
    return "\n".join(lines)


def signature(thing: Any) -> str:
    """The signature in one line; `(...)` where Python knows none."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError, NameError):  # made in C, or annotated for type checkers alone
        return "(...)"
    plain = found.replace(
        parameters=[one.replace(annotation=_plain(one.annotation)) for one in found.parameters.values()],
        return_annotation=_plain(found.return_annotation),
    )
    return MODULES.sub("", ADDRESS.sub("", str(plain)))


class _Raw:
    """An annotation that is shown as it was written: without the quotes of a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _plain(annotation: Any) -> Any:
    return _Raw(annotation) if isinstance(annotation, str) else annotation


def summary(thing: Any) -> str:
    """The first paragraph of a docstring, in one line."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return "a value"
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def _value(name: str, thing: Any) -> str:
    shown = MODULES.sub("", ADDRESS.sub("", repr(thing)))
    return _fence(f"{name} = {shown}" if len(shown) <= WIDTH * 4 else f"{name}: {type(thing).__name__}")


def _head(name: str, thing: Any) -> str:
    if isinstance(thing, property):
        return f"{name}{signature(thing.fget).removeprefix('(self)').replace(' -> ', ': ')}"
    if inspect.isclass(thing):
        bases = ", ".join(
            base.__name__
            for base in thing.__bases__
            if base.__name__ not in HIDDEN and base.__name__[0] != "_"
        )
        kept = (
            "" if issubclass(thing, enum.Enum) or getattr(thing, "_is_protocol", False) else signature(thing)
        )
        return _broken(
            f"class {name}" + (f"({bases})" if bases else ""), "" if kept in ("()", "(...)") else kept
        )
    word = "async def" if inspect.iscoroutinefunction(inspect.unwrap(thing)) else "def"
    return _broken(f"{word} {name}", signature(thing))


def _broken(start: str, arguments: str) -> str:
    """A head whose arguments have a line each if they do not fit into one; a class has them below its bases."""
    if start.startswith("class"):
        start += "\n\n" + start.split()[1].partition("(")[0] if arguments else ""
    if len(start.splitlines()[-1] + arguments) <= WIDTH:
        return start + arguments
    inner, _, result = arguments[1:].rpartition(")")
    return start + "(\n" + "".join(f"    {one},\n" for one in _split(inner)) + ")" + result


def _split(arguments: str) -> Iterator[str]:
    """Arguments apart, at the commas that are in no bracket and no quotes."""
    depth, begun, quoted = 0, 0, ""
    for place, letter in enumerate(arguments):
        if letter in "'\"":
            quoted = (quoted or letter) if quoted != letter else ""
        depth += 0 if quoted else (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth and not quoted:
            yield arguments[begun:place].strip()
            begun = place + 1
    if arguments[begun:].strip():
        yield arguments[begun:].strip()


def _members(thing: Any) -> Iterator[tuple[str, Any]]:
    """The public members that a class of ours defines itself, in the order of the source."""
    if not inspect.isclass(thing) or not thing.__module__.startswith("soundstage"):
        return
    for name, raw in vars(thing).items():
        inner = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
        if not name.startswith("_") and (inspect.isfunction(inner) or isinstance(inner, property)):
            yield name, inner


def _text(thing: Any) -> str:
    """A docstring in Google's style as Markdown."""
    parts = []
    for section in Docstring(inspect.getdoc(thing) or "").parse("google", warnings=False):
        kind = section.kind.value
        if kind in LISTS:
            parts.append(f"**{LISTS[kind]}**\n")
            parts += [f"- {_item(one)}" for one in section.value]
            parts.append("")
        elif kind == "examples":
            parts.append("**Example**\n")
            parts += [_fence(text) if part.value == "examples" else text for part, text in section.value]
        elif kind == "text":
            parts.append(_prose(section.value))
        elif kind == "admonition":
            parts.append(f"**{section.title}**\n\n{_prose(section.value.description)}")
        else:
            parts.append(
                f"**{kind.capitalize()}**\n\n" + "\n".join(f"- {_item(one)}" for one in section.value)
            )
    return "\n".join(parts)


def _item(one: Any) -> str:
    name = getattr(one, "name", "") or str(getattr(one, "annotation", "") or "")
    told = " ".join(one.description.split())
    return f"`{name}`: {told}" if name else told


def _prose(text: str) -> str:
    """Text with its blocks of code, which are indented or begin with `>>>`, as code."""
    blocks = text.split("\n\n")
    return "\n\n".join(_fence(one) if one.lstrip().startswith(">>>") else one for one in blocks) + "\n"


def _fence(code: str) -> str:
    return f"```python\n{code}\n```\n"
