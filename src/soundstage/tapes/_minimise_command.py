"""The command `tape minimise`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from soundstage.cli import BAD_INPUT, say, warn

_CHANGING: Final = re.compile(r"0x[0-9a-f]+|\d+|/\S+")
_ANYWAY: Final = "ok"  # the reply to a request that no rule is left for


def minimise(
    tape: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="The tape, a file of JSON lines.")
    ],
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, behind `--`.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The tape to write; its script goes beside it. [FILE.min.tape]"),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(exists=True, dir_okay=False, help="A file that it finds in its folder; repeatable."),
    ] = None,
    within: Annotated[float, typer.Option(help="Seconds that a run may take.")] = 60.0,
) -> None:
    """Find the shortest tape, and script, on which a program still fails.

    The program is run again and again, with calls left out and replies made smaller. It fails as before if it ends with
    the same exit code and the same last line on standard error, but for numbers and paths. A request that is left
    without an answer gets `ok`. Exit code 2 if it does not fail on the whole tape.

    Example: `soundstage tape minimise failing.tape -- python agent.py "weather in Paris"`
    """
    from soundstage.errors import WaitTimeout
    from soundstage.models import Script, When
    from soundstage.tapes._codegen import readable
    from soundstage.tapes._codegen_command import words_of
    from soundstage.tapes._minimise import minimised
    from soundstage.tapes._rehearsal import rehearse
    from soundstage.tapes._tape import Tape
    from soundstage.tapes._to_script import DraftRule, ScriptDraft, script_of_tape

    files = tuple(file or ())
    argv, _ = words_of(command, Path.cwd(), [one.name for one in files])
    recorded = Tape.load(tape)
    recorded.require_models_alone("a run that is made shorter")
    rules = readable(script_of_tape(recorded.exchanges)).rules
    runs = 0

    def end_of(tried: Sequence[DraftRule], kept: Tape | None = None) -> tuple[int, str]:
        nonlocal runs
        runs += 1
        script = Script(strict=False)
        script.otherwise(_ANYWAY)
        for rule in tried:
            script.add(When(**rule.when), rule.reply, times=len(rule.numbers))
        try:
            done = rehearse(script, argv, files=files, within=within, record=kept)
        except WaitTimeout:
            return 0, ""
        return done.code, _CHANGING.sub("#", done.errors[-1]) if done.errors else ""

    wanted = end_of(rules)
    if not wanted[0]:
        warn(f"{command[0]} does not fail on {tape}: exit code 0")
        raise typer.Exit(BAD_INPUT)
    found = minimised(rules, lambda tried: end_of(tried) == wanted)
    target = output if output is not None else tape.with_suffix(".min.tape")
    shorter = Tape(name=target.name)
    end_of(found, shorter)
    shorter.save(target)
    if found:
        text = ScriptDraft(tuple(found)).as_yaml(default=_ANYWAY)
        target.with_suffix(".yaml").write_text(text, encoding="utf-8")
    say(
        f"{target}: {len(found)} of {len(rules)} rule(s), {runs} runs; still exit code {wanted[0]}: {wanted[1]}"
    )
