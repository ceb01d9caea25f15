"""The commands `soundstage eval import ...`: evals of other tools as suites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from soundstage.cli import say, warn

imports = typer.Typer(help="Write suites out of evals of other tools.", no_args_is_help=True)


@imports.callback()
def _group() -> None:
    """Write suites out of evals of other tools."""


@imports.command()
def promptfoo(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="promptfooconfig.yaml")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", dir_okay=False, help="The suite; standard output unless given."),
    ] = None,
) -> None:
    """Write a configuration of promptfoo as a suite: a case for each prompt, provider and test.

    Files that the suite needs, such as code, are looked up beside it: write it into the folder of the configuration.
    What is not served is listed with file, line and key, and nothing is written then.

    Exit codes: 0 it was written, 2 it cannot be.

    Example: `soundstage eval import promptfoo promptfooconfig.yaml -o suite.yaml`
    """
    import yaml

    from soundstage.evals import import_promptfoo

    suite = import_promptfoo(file)
    for note in suite.notes:
        warn(f"left out: {note}")
    text = yaml.safe_dump(suite.node.value, sort_keys=False, allow_unicode=True, width=120)
    if output is None:
        say(text.rstrip("\n"))
    else:
        output.write_text(text, encoding="utf-8")
        cases = len(suite.node.value["cases"])
        warn(f"{output}: {cases} case{'s' if cases != 1 else ''}")
