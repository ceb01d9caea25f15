"""Judges by what a file or a command says of them: a rubric, and a script, a tape or a live model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from soundstage.errors import ScriptError
from soundstage.judges._judge import Judge
from soundstage.judges._rubric import Rubric
from soundstage.models import ScriptedModel, load_script
from soundstage.wings import reader_of


class JudgeSource(msgspec.Struct, frozen=True, kw_only=True):
    """The model of a judge: at most one of these; the live model that the rubric names unless given.

    Args:
        script: a script, whose rules have `purpose: judge`.
        tape: a tape.
        live: a live model, e.g. `openai/gpt-4.1`.
        base_url: where the live model is, unless at its provider.
    """

    script: str | None = None
    tape: str | None = None
    live: str | None = None
    base_url: str = ""


def judges_of(
    rubric: Rubric, source: JudgeSource, folder: Path, *, beside: str = "beside the one that names it"
) -> Callable[[], Judge]:
    """A function that makes a judge for each run.

    Args:
        rubric: what is judged.
        source: who judges.
        folder: where files are looked up.
        beside: that folder in words, for errors.

    Raises:
        ScriptError: for several models, files that are not there, a file that is no tape.
        EnvironmentProblem: for a live model that may not be asked.
    """
    given = [name for name in ("script", "tape", "live") if getattr(source, name) is not None]
    if len(given) > 1 or (source.base_url and given not in ([], ["live"])):
        seen = " and ".join([*given, *(["base_url"] if source.base_url else [])])
        raise ScriptError("a judge has one model", expected="one of script, tape and live", seen=seen)
    if source.script is not None:
        script = load_script(_file(folder, source.script, beside))
        return lambda: Judge(rubric, ScriptedModel(script, shared=True))
    if source.tape is not None:
        path = _file(folder, source.tape, beside)
        made = reader_of(path, lambda wing: wing.models)
        if made is None:
            raise ScriptError(f"{path.name} is no tape", hint="soundstage record writes one")
        models: Callable[[], Any] = made(path)
        return lambda: Judge(rubric, models())
    named = rubric if source.live is None else msgspec.structs.replace(rubric, model=source.live)
    return lambda: Judge(named, _live(named.model, source.base_url))


def _live(name: str, base_url: str) -> Any:
    from soundstage.live import LiveModel

    made: Any = LiveModel  # it checks the name of the format
    return made(name.partition("/")[0], base_url=base_url)


def _file(folder: Path, name: str, beside: str) -> Path:
    path = folder / name
    if not path.exists():
        raise ScriptError(f"there is no {path}", expected=f"a file {beside}, or a whole path")
    return path
