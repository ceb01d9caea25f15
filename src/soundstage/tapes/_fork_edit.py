"""A step of a tape as a text for an editor, and the one change that somebody has made in it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.journal import Journal
from soundstage.lifecycle import ScratchFolder
from soundstage.models import Reply
from soundstage.tapes._change import (
    Change,
    ReplyChange,
    SystemChange,
    asked_in,
    result_change,
    system_prompt,
    tool_names,
)
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._program import run_program
from soundstage.tapes._rewrite import results_of
from soundstage.tapes._script_reply import reply_of
from soundstage.tapes._yaml import as_yaml

EDITORS: Final = ("VISUAL", "EDITOR")
_HEAD: Final = """\
# Step {at} of {tape}. Change one thing, save, and leave the editor; without a change nothing is run.
# system: what the model is given from here on; so are results, the results of tools by the ids of their calls.
# reply: what the program gets in the place of the recorded reply, as in a script: text, tool_calls or blocks.
"""


def form_of(step: RecordedExchange) -> dict[str, Any]:
    """A step as data that people edit."""
    request = asked_in(step)
    names = tool_names(request)
    results = {
        one.call_id: {"tool": one.name or names.get(one.call_id, ""), "text": one.text}
        for one in results_of(request)
    }
    reply = msgspec.json.decode(msgspec.json.encode(reply_of(step, request)[0]))
    kept = {name: reply[name] for name in ("text", "blocks", "tool_calls") if name in reply}
    return {
        "system": system_prompt(request),
        **({"results": results} if results else {}),
        "reply": kept,
    }


def edited_change(
    step: RecordedExchange, at: int, tape: str, environment: Mapping[str, str]
) -> tuple[Change, str] | None:
    """The change that the user makes in an editor, and its name; none if nothing was changed.

    Args:
        step: what is edited.
        at: its number.
        tape: the name of its tape.
        environment: names the editor.

    Raises:
        EnvironmentProblem: if there is no editor, or it fails.
        ScriptError: if what was saved is no step, or more than one thing was changed.
    """
    before = form_of(step)
    text = edited_text(_HEAD.format(at=at, tape=tape) + as_yaml(before), environment)
    return change_in(step, before, text)


def change_in(step: RecordedExchange, before: Mapping[str, Any], text: str) -> tuple[Change, str] | None:
    """The one change in an edited form, and its name.

    Raises:
        ScriptError: if the text is no such form, or more than one thing was changed.
    """
    after = _form_in(text)
    request = asked_in(step)
    found: dict[str, Change] = {}
    if after["system"] != before["system"]:
        found["llm.system"] = SystemChange(was=before["system"], now=after["system"])
    results = _texts_in(after.get("results") or {}, before.get("results") or {})
    for result in results_of(request):
        now = results[result.call_id]
        if now != result.text:
            found[f"tool.{result.call_id}.result"] = result_change(request, result, now)
    if after["reply"] != before["reply"]:
        found["llm.reply"] = ReplyChange(_reply_in(after["reply"]))
    if len(found) > 1:
        raise _refused(f"changed: {', '.join(found)}", "one change")
    return next(((change, f"{name} (edited)") for name, change in found.items()), None)


def _form_in(text: str) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _refused(f"it is no YAML: {error}") from None
    if not isinstance(found, dict) or not {"system", "reply"} <= found.keys() <= {
        "system",
        "results",
        "reply",
    }:
        raise _refused(", ".join(map(str, found)) if isinstance(found, dict) else repr(found))
    if not isinstance(found["system"], str):
        raise _refused(f"system is {found['system']!r}, no text")
    return found


def _texts_in(results: Any, before: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the results, all of which have to be there as they were."""
    try:
        named = {call_id: one["tool"] for call_id, one in results.items()}
        texts = {call_id: one["text"] for call_id, one in results.items()}
    except (AttributeError, KeyError, TypeError):
        raise _refused(f"results: {results!r}") from None
    if named != {call_id: one["tool"] for call_id, one in before.items()}:
        raise _refused(
            f"results of {', '.join(map(str, named)) or 'no call'}", f"those of {', '.join(before)}"
        )
    strange = [call_id for call_id, text in texts.items() if not isinstance(text, str)]
    if strange:
        raise _refused(f"the result {strange[0]} is {texts[strange[0]]!r}, no text")
    return texts


def _reply_in(given: Any) -> Reply:
    try:
        reply = msgspec.convert(given, Reply)
    except msgspec.ValidationError as error:
        raise _refused(f"reply: {error}") from None
    if reply.error is not None or reply.fault is not None:
        raise _refused("a reply with an error or a fault", "text, tool_calls or blocks")
    return reply


def _refused(seen: str, expected: str = "system, results and reply, one text of them changed") -> ScriptError:
    return ScriptError(
        "the edited step cannot be used",
        expected=expected,
        seen=seen,
        hint="run the command again, and edit it",
    )


def edited_text(text: str, environment: Mapping[str, str]) -> str:
    """A text after the user has edited it.

    Raises:
        EnvironmentProblem: if there is no editor, or it fails.
    """
    editor = next((environment[name] for name in EDITORS if environment.get(name, "").strip()), "")
    if not editor:
        raise EnvironmentProblem(
            "there is no editor",
            expected="VISUAL or EDITOR in the environment",
            seen="neither is set",
            hint="export EDITOR=..., or name the change: --set 'llm.system+= Be brief.'",
        )
    scratch = ScratchFolder("fork")
    try:
        file = scratch.path / "step.yaml"
        file.write_text(text, encoding="utf-8")
        code = asyncio.run(run_program([*shlex.split(editor), str(file)], Journal(), environment=environment))
        if code:
            raise EnvironmentProblem(f"the editor failed: {editor}", seen=f"exit code {code}")
        return Path(file).read_text(encoding="utf-8")
    finally:
        scratch.close()
