"""The commands `soundstage tape ...`: one module for each subcommand, put together here."""

from __future__ import annotations

import typer

from soundstage.tapes._accept import accept
from soundstage.tapes._check_command import check
from soundstage.tapes._import_command import import_tape
from soundstage.tapes._minimise_command import minimise
from soundstage.tapes._script_commands import to_script

app = typer.Typer(
    name="tape",
    help="Tapes: check them, accept what has changed, make scripts of them, bring in those of other tools.",
    no_args_is_help=True,
)
app.command("to-script")(to_script)
app.command("import")(import_tape)
app.command("minimise")(minimise)
app.command("accept")(accept)
app.command("check")(check)
