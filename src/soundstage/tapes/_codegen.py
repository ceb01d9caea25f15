"""Tests out of runs: the source of a pytest test that plays a recorded run and asserts what it did. Pure.

The test has the rules of the tape's script, without ids and token counts, starts the program, and asserts its exit
code, what it printed, the tools that were called and offered, the files that it wrote, and a digest of each request:
whatever else changes in what the program asks is found there. What two runs on one script do not share is not asserted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.models import BlockSpec, CallSpec, Reply
from soundstage.tapes._literals import call_source, literal
from soundstage.tapes._rehearsal import FOLDER, Rehearsal, WrittenFile
from soundstage.tapes._to_script import ScriptDraft

MOST_LINES: Final = 12  # of output that is asserted word by word
LONGEST: Final = 400  # characters of a file that is asserted word by word
_SYSTEM: Final = 160  # characters of a system prompt that is shown
_STARTER: Final = re.compile(r"^(python|python3|node|bash|sh)_")


class ProgramWords(NamedTuple):
    """How a test starts the program.

    Args:
        sources: its words as Python source.
        files: names of files beside the test that it finds in its folder.
        title: the command as people write it.
    """

    sources: tuple[str, ...]
    files: tuple[str, ...] = ()
    title: str = ""


def readable(draft: ScriptDraft) -> ScriptDraft:
    """A draft without ids of calls, token counts, response headers and names of models."""
    return draft._replace(rules=tuple(rule._replace(reply=_plain(rule.reply)) for rule in draft.rules))


def _plain(reply: Reply) -> Reply:
    blocks = None if reply.blocks is None else tuple(map(_without_id, reply.blocks))
    calls = tuple(msgspec.structs.replace(call, id="") for call in reply.tool_calls)
    return msgspec.structs.replace(reply, usage=None, model="", headers={}, blocks=blocks, tool_calls=calls)


def _without_id(block: BlockSpec) -> BlockSpec:
    if block.tool_call is None:
        return block
    return msgspec.structs.replace(block, tool_call=msgspec.structs.replace(block.tool_call, id=""))


def test_source(draft: ScriptDraft, program: ProgramWords, first: Rehearsal, second: Rehearsal) -> str:
    """The source of a test.

    Args:
        draft: the rules.
        program: how it is started.
        first: a run on these rules.
        second: another one; what both share is asserted.
    """
    asserted = list(_assertions(first, second))
    body = [
        *_rules(draft),
        "",
        *_start(program, first.code, changes=bool(first.files)),
        "",
        *asserted,
    ]
    name = _STARTER.sub("", re.sub(r"\W+", "_", program.title.lower()).strip("_"))[:60].rstrip("_")
    lines = [f"    {line}" if line else "" for line in body]
    head = [
        f'"""A recorded run: {_in_docstring(program.title)}."""',
        "",
        *_imports(program, asserted),
        "",
        "HERE = Path(__file__).resolve().parent",
        "",
        "",
        f"async def test_{name or 'the_program'}(script, command, workspace, trace):",
    ]
    return "\n".join([*head, *lines, ""])


def _in_docstring(text: str) -> str:
    return text.replace("\\", "/").replace('"', "'").splitlines()[0]


def _imports(program: ProgramWords, asserted: Sequence[str]) -> Iterator[str]:
    text = "\n".join([*program.sources, *asserted])
    if "hashlib" in text:
        yield "import hashlib"
    if "sys.executable" in text:
        yield "import sys"
    yield "from pathlib import Path"
    yield ""
    yield "from soundstage.differences import digest_of"
    names = ("assert_model_requests", "assert_tool_calls", "assert_tools_offered")
    yield "from soundstage.trace import " + ", ".join(name for name in names if name in text)


def _rules(draft: ScriptDraft) -> Iterator[str]:
    for rule in draft.rules:
        on = call_source("script.on", named={**rule.when, "times": len(rule.numbers)})
        yield on + _reply(rule.reply)


def _reply(reply: Reply) -> str:
    if reply.error is not None:
        fields = msgspec.to_builtins(reply.error)
        first = [fields.pop("status", 500), fields.pop("message", "scripted error")]
        return call_source(".error", first, fields)
    fields = msgspec.to_builtins(reply)
    for name, calls in (("tool_calls", reply.tool_calls), ("blocks", reply.blocks)):
        if calls:
            fields[name] = [_spec(one) for one in calls]
    first = [fields.pop("text")] if "text" in fields else []
    return call_source(".reply", first, fields)


def _spec(spec: CallSpec | BlockSpec) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(spec)
    return found


def _start(program: ProgramWords, code: int, *, changes: bool) -> Iterator[str]:
    for name in program.files:
        yield f"workspace.write({literal(name)}, (HERE / {literal(name)}).read_bytes())"
    if changes:
        yield "before = workspace.snapshot()"
    words = ", ".join(program.sources)
    yield f"program = await command([{words}], cwd=workspace.root)"
    yield f"await program.wait({code}, within=60)"


def _assertions(first: Rehearsal, second: Rehearsal) -> Iterator[str]:
    yield from _printed(first, second)
    yield from _written(first.files, second.files)
    yield "run = trace()"
    yield f"assert_model_requests(run, {len(first.trace.main_steps)})"
    yield from _tools(first)
    yield from _systems(first)
    yield from _digests(first.digests, second.digests)


def _printed(first: Rehearsal, second: Rehearsal) -> Iterator[str]:
    if first.lines != second.lines:
        same = [one for one, other in zip(first.lines, second.lines, strict=False) if one == other]
        yield "# not all that it prints is the same each time; these lines are"
        for line in same[-MOST_LINES:]:
            yield f"assert {literal(line)} in {_lines([line])}"
        return
    if len(first.lines) <= MOST_LINES:
        yield f"assert {_lines(first.lines)} == {literal(list(first.lines), 4, 24)}"
    else:
        last = list(first.lines[-3:])
        yield f"assert len(program.lines()) == {len(first.lines)}"
        yield f"assert {_lines(last)}[-3:] == {literal(last, 4, 24)}"


def _lines(lines: Sequence[str]) -> str:
    if not any(FOLDER in line for line in lines):
        return "program.lines()"
    return f'[line.replace(str(workspace.root), "{FOLDER}") for line in program.lines()]'


def _written(first: Sequence[WrittenFile], second: Sequence[WrittenFile]) -> Iterator[str]:
    if not first:
        return
    shared = [file for file in first if file.path in {other.path for other in second}]
    paths = {file.path: file.change for file in shared}
    yield "changes = {one.path: one.change for one in workspace.changes(before)}"
    yield f"assert changes == {literal(paths, 4, 18)}"
    known = {file.path: file.text for file in second}
    for file in shared:
        if file.text is None or known[file.path] != file.text or FOLDER in file.text:
            continue
        read = f"workspace.read({literal(file.path)})"
        if len(file.text) <= LONGEST:
            yield f"assert {read} == {literal(file.text, 4, len(read) + 11)}"
        else:
            found = hashlib.sha256(file.text.encode()).hexdigest()
            yield f'assert hashlib.sha256({read}.encode()).hexdigest() == "{found}"'


def _tools(run: Rehearsal) -> Iterator[str]:
    calls = [
        (tool.name, {key: {"equals": value} for key, value in tool.arguments.items()})
        for step in run.trace.main_steps
        for tool in (step.response.tool_calls if step.response is not None else ())
    ]
    if calls:
        given = ", ".join(literal(call if call[1] else call[0], 4) for call in calls)
        if len(given) > 70:
            given = "\n" + "".join(f"        {literal(call if call[1] else call[0], 8)},\n" for call in calls)
            given += "    "
        yield (
            f"assert_tool_calls(run, {given})"
            if not given.startswith("\n")
            else (f"assert_tool_calls(\n        run,{given})")
        )
    offered: set[tuple[str, ...]] = set()
    for index, step in enumerate(run.trace.main_steps):
        names = tuple(tool.name for tool in step.request.tools)
        if names and names not in offered:
            offered.add(names)
            yield f"assert_tools_offered(run, {index}, {', '.join(map(literal, names))})"


def _systems(run: Rehearsal) -> Iterator[str]:
    shown: set[str] = set()
    for index, step in enumerate(run.trace.main_steps):
        text = step.request.system_text
        if text and text not in shown and len(text) <= _SYSTEM and FOLDER not in text:
            shown.add(text)
            yield f"assert run.main_steps[{index}].request.system_text == {literal(text, 4, 50)}"


def _digests(first: Sequence[str], second: Sequence[str]) -> Iterator[str]:
    same_set = sorted(first) == sorted(second)
    if not same_set:
        yield "# its requests are not the same each time: no digests of them are asserted"
        return
    in_order = tuple(first) == tuple(second)
    yield "# a digest of each request: prompts, tools with their schemas, results, settings"
    yield f'same = lambda text: text.replace(str(workspace.root), "{FOLDER}")  # noqa: E731'
    found = "[digest_of(step.request, normalise=same) for step in run.steps]"
    wanted = list(first) if in_order else sorted(first)
    yield f"asked = {found if in_order else f'sorted({found})'}"
    yield f"assert asked == {literal(wanted, 4, 16)}"
