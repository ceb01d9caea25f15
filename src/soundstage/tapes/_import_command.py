"""The command `tape import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soundstage.cli import FAILED, say, warn


def import_tape(
    kind: Annotated[str, typer.Argument(help="vcrpy, har, openai or langsmith.")],
    files: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Files, in their order.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The tape to write.", dir_okay=False)],
) -> None:
    """Make a tape of what another tool has recorded.

    What cannot be imported is listed on standard error, with its line. Exit code 1 if nothing could be.

    Examples: `soundstage tape import vcrpy cassettes/weather.yaml -o weather.tape`,
    `soundstage tape import openai batch-input.jsonl batch-output.jsonl -o batch.tape`
    """
    from soundstage.tapes._import_formats import READERS
    from soundstage.tapes._importing import imported
    from soundstage.tapes._tape import Tape

    if kind not in READERS:
        raise typer.BadParameter(
            f"{kind!r} is no kind of recording; known: {', '.join(READERS)}. Fixtures of aimock are scripts: "
            "soundstage script to-tape FIXTURES --tape FILE -- COMMAND"
        )
    texts = [file.read_text(encoding="utf-8-sig") for file in files]
    found = imported(READERS[kind]("\n".join(texts) if len(texts) > 1 else texts[0]))
    for problem in found.problems:
        warn(problem)
    if not found.exchanges:
        warn("nothing was imported")
        raise typer.Exit(FAILED)
    Tape(found.exchanges, name=output.name).save(output)
    say(f"{output}: {len(found.exchanges)} exchange(s), {len(found.problems)} not imported")
