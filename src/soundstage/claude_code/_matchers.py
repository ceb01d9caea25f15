r"""Which hooks are for which occasion: matchers, as Claude Code reads them. Pure.

How it works, measured with 2.1.330. A matcher of letters, digits, `_`, `-`, spaces, `,` and `|` is a list of whole
names: `Edit, Bash`. Anything else is a regular expression of JavaScript that has to be found somewhere in the name:
`^(?!Bash)`. One that JavaScript cannot read matches nothing, and no one is told. The tool `Agent` is also called
`Task`. What a matcher is held against is the tool for most events, a word such as `startup` for some, and nothing for
the rest, which ignore it. `tests/claude_code/test_matchers.py` holds all of this against the CLI.

JavaScript's expressions are translated for Python token by token. The few constructs that Python lacks, and those
that it reads in another way, are refused by name rather than guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from soundstage.errors import ScriptError

_LIST: Final = re.compile(r"[\w,| -]*", re.ASCII)
_ALIASES: Final = {"Agent": "Task"}  # what a tool was called before; matchers may still say so
_EVERYTHING: Final = ("", "*")

SUBJECTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"),
        "tool_name",
    ),
    **dict.fromkeys(("SubagentStart", "SubagentStop"), "agent_type"),
    **dict.fromkeys(("PreCompact", "PostCompact", "Setup"), "trigger"),
    "SessionStart": "source",
    "SessionEnd": "reason",
    "Notification": "notification_type",
}
"""The field of a hook's input that its matcher is held against, for each event that has matchers."""

_QUANTIFIER: Final = r"(?:[*+?]|\{\d+(?:,\d*)?\})\??"
_TOKEN: Final = re.compile(
    rf"""(?P<quantifier>{_QUANTIFIER})
    | (?P<behind>\(\?<[=!])
    | (?P<open>\((?:\?(?:[:=!]|<(?P<name>[A-Za-z_$][\w$]*)>))?(?!\?))
    | (?P<close>\))
    | (?P<start>\^) | (?P<end>\$) | (?P<edge>\\[bB]) | (?P<dot>\.) | (?P<bar>\|)
    | (?P<set>\[(?P<inverse>\^?)(?P<members>(?:\\.|[^\]\\])*)\])
    | \\(?P<class>[dDwWsS])
    | \\(?:x(?P<hex>[0-9a-fA-F]{{2}})|u(?P<unit>[0-9a-fA-F]{{4}}))
    | \\(?P<control>[fnrtv])
    | \\k<(?P<same>\w+)>
    | \\(?P<escaped>[^1-9ckuxpP0])
    | (?P<plain>[^\\()\[*+?])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_MEMBER: Final = re.compile(
    r"\\(?P<class>[dDwWsS])|\\x(?P<hex>[0-9a-fA-F]{2})|\\u(?P<unit>[0-9a-fA-F]{4})"
    r"|\\(?P<control>[bfnrtv])|\\(?P<escaped>[^1-9ckuxpP0])|(?P<plain>[^\\])",
    re.DOTALL | re.ASCII,
)
_FIXED: Final = {"end": r"\Z", "dot": r"[^\n\r\u2028\u2029]"}
_AFTER_NOTHING: Final = ("", "open", "behind", "bar", "quantifier", "start", "end", "edge")


class PatternError(ValueError):
    """The expression is none of JavaScript: it matches nothing."""


def matches(matcher: str, name: str) -> bool:
    """Whether a matcher is for a tool, or another name.

    Args:
        matcher: as a hook has it; empty and `*` for everything.
        name: `Bash`, `mcp__files__read`, `startup`...

    Raises:
        ScriptError: for an expression of JavaScript that cannot be followed here, such as a back-reference by number.

    >>> matches("Edit, Bash", "Bash"), matches("^(?!Bash)", "Edit"), matches("Ba", "Bash")
    (True, True, False)
    """
    if matcher in _EVERYTHING:
        return True
    names = (name, _ALIASES[name]) if name in _ALIASES else (name,)
    if _LIST.fullmatch(matcher):
        return not {part.strip() for part in re.split(r"[|,]", matcher)}.isdisjoint(names)
    try:
        pattern = javascript(matcher)
    except PatternError:
        return False
    return any(pattern.search(one) for one in names)


def fits(event: str, matcher: str, payload: Mapping[str, Any]) -> bool:
    """Whether a hook of this event and matcher runs for this input.

    Where the input does not say what the matcher is held against, it does.

    >>> fits("PreToolUse", "Edit", {"tool_name": "Bash"}), fits("Stop", "Edit", {})
    (False, True)
    """
    subject = payload.get(SUBJECTS.get(event, ""))
    return not isinstance(subject, str) or not subject or matches(matcher, subject)


@lru_cache(maxsize=256)
def javascript(pattern: str) -> re.Pattern[str]:
    """A regular expression of JavaScript, for Python.

    Raises:
        PatternError: if JavaScript cannot read it.
        ScriptError: if JavaScript can, and we cannot.
    """
    translated = "".join(_translated(pattern))
    try:
        return re.compile(translated, re.ASCII)
    except re.error as error:
        raise _not_followed(pattern, str(error)) from None


def _translated(pattern: str) -> Iterator[str]:
    place, before = 0, ""
    opened: list[str] = []
    while place < len(pattern):
        found = _TOKEN.match(pattern, place)
        if found is None:
            raise _unread(pattern, place)
        kind = _kind(found)
        if kind == "quantifier" and before in _AFTER_NOTHING:
            raise PatternError(f"nothing to repeat at {place}")
        if kind in ("open", "behind"):
            opened.append(kind)
        elif kind == "close":
            if not opened:
                raise PatternError(f"unmatched ) at {place}")
            kind = "edge" if opened.pop() == "behind" else "close"  # what looks behind cannot be repeated
        yield _python(found)
        place, before = found.end(), kind
    if opened:
        raise PatternError("a group is not closed")


def _kind(found: re.Match[str]) -> str:
    kinds = ("quantifier", "behind", "open", "close", "start", "end", "edge", "bar")
    return next((kind for kind in kinds if found[kind] is not None), "item")


def _python(found: re.Match[str]) -> str:
    if found["name"]:
        return f"(?P<{found['name']}>"
    if found["set"]:
        return _set(found["inverse"], found["members"])
    if found["same"]:
        return f"(?P={found['same']})"
    if found["hex"] or found["unit"]:
        return re.escape(chr(int(found["hex"] or found["unit"], 16)))
    literal = found["escaped"] or found["plain"]
    if literal and not found["bar"]:
        return re.escape(literal)
    return next((_FIXED[kind] for kind in _FIXED if found[kind]), found[0])


def _set(inverse: str, members: str) -> str:
    if not members:
        return r"[\s\S]" if inverse else r"(?!)"
    parts: list[str] = []
    place = 0
    while place < len(members):
        found = _MEMBER.match(members, place)
        if found is None:
            raise _not_followed(f"[{members}]", f"the escape at {place}")
        parts.append(_member(found, parts, members))
        place = found.end()
    return f"[{inverse}{''.join(parts)}]"


def _member(found: re.Match[str], before: list[str], members: str) -> str:
    if found["class"] or found["control"]:
        return found[0]
    if found["hex"] or found["unit"]:
        return re.escape(chr(int(found["hex"] or found["unit"], 16)))
    if found["plain"] != "-" or not before or found.end() == len(members):
        return re.escape(found["escaped"] or found["plain"])
    after = members[found.end() : found.end() + 2]
    by_class = re.fullmatch(r"\\[dDwWsS]", after) or re.fullmatch(r"\\[dDwWsS]", before[-1])
    return r"\-" if by_class else "-"  # beside a class it is itself


def _unread(pattern: str, place: int) -> Exception:
    """Name what is wrong with text that is no token: JavaScript cannot read it either, or we refuse it."""
    rest = pattern[place:]
    if rest[0] == "[" or rest == "\\" or re.match(r"\(\?(?!<?[=!:]|<\w|[ims-]*:)", rest):
        return PatternError(f"{rest!r} cannot be read")
    return _not_followed(pattern, f"{rest!r}")


def _not_followed(pattern: str, seen: str) -> ScriptError:
    return ScriptError(
        f"the matcher {pattern!r} cannot be followed without the CLI",
        expected="names (`Edit|Bash`), or a simple regular expression",
        seen=seen,
        hint="let the agent use the tool; `claude.hooks.log()` has the hooks that ran",
    )
