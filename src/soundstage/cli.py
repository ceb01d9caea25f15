"""The command line: parses arguments, calls one function per command, turns errors into exit codes.

Wings bring commands of their own; they print by `say` and `warn` too.

Exit codes: 0 good; 1 a check failed; 2 usage or bad input.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from soundstage import __version__
from soundstage.errors import ExpectationError, ScriptProblem, SoundstageError
from soundstage.wings import load_target, wings

GOOD, FAILED, BAD_INPUT = 0, 1, 2
LEVELS: Final = "process, netns, sandbox or container."

app = typer.Typer(
    name="soundstage",
    help="""End-to-end tests for LLM applications and agents, on a closed set.

    Exit codes: 0 good; 1 a check or a scenario failed; 2 wrong usage or bad input.
    """,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        say(f"soundstage {__version__}")
        raise typer.Exit


@app.callback()
def _group(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Take the options before a command."""


ScriptFile = Annotated[
    Path,
    typer.Argument(
        exists=True, help="Script: YAML, JSON, a folder of these, or a Python file that defines `script`."
    ),
]


@app.command()
def serve(
    script: Annotated[
        Path,
        typer.Option(exists=True, help="What the model says: YAML, JSON, a folder of these, or Python."),
    ],
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="0 picks a free one. [default: 0]")
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Other than loopback only with --token. [default: 127.0.0.1]")
    ] = None,
    journal: Annotated[Path | None, typer.Option(help="Keep everything that happens in this file.")] = None,
    strict: Annotated[
        bool | None, typer.Option("--strict", help="A request without a rule is an error.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Where ids come from. [default: 0]")] = None,
    token: Annotated[
        str, typer.Option(envvar="SOUNDSTAGE_TOKEN", help="API key that clients must send.")
    ] = "",
    control_token: Annotated[
        str, typer.Option(help="What tests must send to /_soundstage/. [default: a random one, printed]")
    ] = "",
) -> None:
    """Serve a scripted model in the formats of OpenAI, Anthropic and Gemini.

    Prints `serving http://127.0.0.1:PORT` once it accepts connections. SIGTERM and Ctrl-C finish what is in
    flight (within 5 seconds), close the journal and exit with 0.

    Example: `soundstage serve --script script.yaml --journal run.jsonl`

    What is not given comes from variables such as `SOUNDSTAGE_PORT`, from `soundstage.toml`, or from
    `[tool.soundstage]` in `pyproject.toml`.

    Point a client at it:

    - `OPENAI_BASE_URL=http://127.0.0.1:PORT/v1`
    - `ANTHROPIC_BASE_URL=http://127.0.0.1:PORT`
    - `GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:PORT`

    Tests in any language ask it what happened, and change the script:

    They send the header `x-soundstage-control: TOKEN` with the token that is printed (or given by `--control-token`);
    the program under test must not know it.

    - `GET /_soundstage/journal?after=N&within=S` waits up to S seconds for what comes after record N
    - `GET /_soundstage/unused`, `POST /_soundstage/rules`, `POST /_soundstage/reset`
    """
    from soundstage.config import load_settings
    from soundstage.host import ServeOptions
    from soundstage.host import serve as run_server

    given = {"port": port, "host": host, "journal": journal and str(journal), "strict": strict, "seed": seed}
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = load_settings(Path.cwd(), os.environ, chosen)
    kept = Path(settings.journal) if settings.journal else None
    options = ServeOptions(
        script, settings.host, settings.port, kept, settings.strict, settings.seed, token, control_token
    )
    run_server(options, say=say, warn=warn)


@app.command()
def check(script: ScriptFile) -> None:
    """Check a script: unknown keys, bad expressions, rules that can never fire, each with file and line.

    Warns of a rule whose text is a part of another's: `go` answers "good bye". A file whose top-level key is `mcp` is a
    script of MCP servers. Exit code 1 if there are problems; warnings are none.

    Example: `soundstage check script.yaml`
    """
    problems = _checker_of(script)(script)
    for problem in problems:
        say(str(problem))
    if any(not problem.warning for problem in problems):
        raise typer.Exit(FAILED)
    say(f"{script}: good" + (f", {len(problems)} warning(s)" if problems else ""))


def _checker_of(script: Path) -> Callable[[Path], Sequence[ScriptProblem]]:
    """Who checks a file: a wing, if it has one of its top-level keys and no rules of a model."""
    from soundstage.models import script_problems
    from soundstage.scripts import SourceReport, read_source_file

    node = read_source_file(script, SourceReport(str(script)))
    keys = set() if node is None or "rules" in node.fields else set(node.fields)
    for wing in wings():
        for key in keys & set(wing.scripts):
            checker: Callable[[Path], Sequence[ScriptProblem]] = load_target(wing.scripts[key])
            return checker
    return script_problems


@app.command()
def schema() -> None:
    """Print the JSON Schema of script files, for editors.

    Example: `soundstage schema > script.schema.json`, and as the first line of a script:
    `# yaml-language-server: $schema=script.schema.json`
    """
    import msgspec

    from soundstage.models import script_schema

    say(msgspec.json.format(msgspec.json.encode(script_schema())).decode())


@app.command()
def show(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A journal, or a tape.")],
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page instead.")] = None,
    context: Annotated[
        int | None, typer.Option(help="Position of a step: show what the model was given there.")
    ] = None,
) -> None:
    """Show the trace of a journal or a tape: who was asked what, which tools ran, tokens, cost, failures.

    `soundstage serve --journal FILE` and `HostBuilder().with_journal(FILE)` write journals, `soundstage record` tapes.

    With `--context N` it shows the messages of the request at @N, and what became of those of the same caller's last
    request: KEPT, DROPPED, CHANGED, TRUNCATED; and what is NEW since the last reply, or was INJECTED before it.

    Example: `soundstage show run.jsonl --html trace.html`, `soundstage show run.jsonl --context 12`
    """
    from soundstage.report import show_run

    say(show_run(file, html=html, context=context))


def level(name: str) -> str:
    """The name of an isolation level, if there is such a level.

    Raises:
        typer.BadParameter: if there is none.
    """
    from soundstage.drivers import as_isolation
    from soundstage.errors import ScriptError

    try:
        as_isolation(name)
    except ScriptError as error:
        raise typer.BadParameter(f"{name!r} is no isolation level; known: {error.expected}") from None
    return name


def say(text: str) -> None:
    """Print a result."""
    try:
        typer.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads our output has seen enough; that is no failure
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(text: str) -> None:
    """Print what is wrong, on standard error."""
    typer.echo(f"soundstage: {text}", err=True)


def _stop(error: SoundstageError) -> NoReturn:
    warn(str(error))
    sys.exit(FAILED if isinstance(error, ExpectationError) else BAD_INPUT)


def _add_wings(asked: str) -> None:
    """Add the commands that wings bring: `soundstage <command>`, in `--help` as our own.

    To load those of all wings takes longer than most commands run, so a command that is asked for is added alone.
    """
    brought = {name: target for wing in wings() for name, target in wing.commands.items()}
    ours = {command.callback.__name__ for command in app.registered_commands if command.callback}
    for name in brought if asked not in {*brought, *ours} else {asked} & set(brought):
        command = load_target(brought[name])
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)


def main() -> None:
    """The console script."""
    try:
        _add_wings(next((word for word in sys.argv[1:] if not word.startswith("-")), ""))
        app()
    except SoundstageError as error:
        _stop(error)


if __name__ == "__main__":
    main()
