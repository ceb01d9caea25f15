"""The command `codegen`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from soundstage.cli import BAD_INPUT, FAILED, say, warn

if TYPE_CHECKING:
    from soundstage.lifecycle import Finished

_TEST_WITHIN: Final = 300.0  # seconds


def codegen(
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, behind `--`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The test to write.")] = Path("test_run.py"),
    script: Annotated[
        Path | None, typer.Option(exists=True, help="Run it on this script, or on a folder of them.")
    ] = None,
    tape: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Take the calls of this tape.")
    ] = None,
    upstream: Annotated[
        list[str] | None,
        typer.Option(help="Live: openai=URL, anthropic=URL, gemini=URL, as that SDK takes it; repeatable."),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="A file that it finds in its folder; repeatable."),
    ] = None,
    check: Annotated[  # noqa: FBT002
        bool, typer.Option("--check/--no-check", help="Run the test at once.")
    ] = True,
) -> None:
    """Record a run of a program, and write a pytest test that plays it and asserts what it did.

    Live unless a script or a tape is given: your own keys are used. The program runs in a new folder; words that name
    files of this folder are found beside the test. Exit code 1 if the test does not pass at once.

    Example: `soundstage codegen --script weather.yaml -o test_weather.py -- python agent.py "weather in Paris"`
    """
    from soundstage.tapes._codegen import ProgramWords, readable, test_source
    from soundstage.tapes._recorded_run import recorded_draft
    from soundstage.tapes._rehearsal import rehearse

    files = tuple(file or ())
    argv, sources = words_of(command, output.resolve().parent, [one.name for one in files])
    draft = recorded_draft(argv, files, script=script, tape=tape, upstream=upstream or ())
    for problem in draft.problems:
        warn(problem)
    if not draft.rules:
        warn(f"{command[0]} asked no model: there is nothing to make a test of")
        raise typer.Exit(BAD_INPUT)
    draft = readable(draft)
    first, second = (rehearse(draft.script(), argv, files=files) for _ in range(2))
    beside = tuple(os.path.relpath(one, output.resolve().parent) for one in files)
    title = shlex.join([Path(command[0]).name, *command[1:]])
    program = ProgramWords(sources, beside, title)
    output.write_text(test_source(draft, program, first, second), encoding="utf-8")
    say(f"{output}: {len(draft.rules)} rule(s), {len(first.trace.steps)} request(s)")
    if check and (done := _tested(output)).code:
        warn(f"the test does not pass:\n{done.stdout}")
        raise typer.Exit(FAILED)


def words_of(
    command: Sequence[str], beside: Path, own: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a command with full paths, and as Python source of a test in the folder `beside`."""
    from soundstage.tapes._literals import literal

    argv, sources = [], []
    for place, word in enumerate(command):
        path = Path(word)
        if place == 0 and path.name in ("python", "python3"):
            argv.append(sys.executable)
            sources.append("sys.executable")
        elif place == 0 and word == sys.executable:
            argv.append(word)
            sources.append("sys.executable")
        elif word not in own and not word.startswith("-") and _is_file(path):
            argv.append(str(path.resolve()))
            sources.append(f"HERE / {literal(os.path.relpath(path.resolve(), beside))}")
        else:
            argv.append(shutil.which(word) or word if place == 0 else word)
            sources.append(literal(word))
    return tuple(argv), tuple(sources)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file() and not path.is_absolute()
    except (OSError, ValueError):
        return False


def _tested(test: Path) -> Finished:
    from soundstage.lifecycle import Execution

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test.resolve())]
    folder = test.resolve().parent
    return Execution(command, cwd=folder, environment=dict(os.environ), together=True).run(_TEST_WITHIN)
