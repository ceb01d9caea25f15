"""Shared by the example programs when they run for real: keys, a model, the journal, exit codes.

A program says what it lacks and what to do about it, and exits with code 2; with code 1 when something fails
later. Nothing in here is needed to test an app: a test takes the app's `configure` and surrounds it itself.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, NoReturn

from soundstage.agents import AppBuilder, StandaloneContext
from soundstage.clock import SystemClock, run
from soundstage.errors import EnvironmentProblem, SoundstageError
from soundstage.journal import Journal, Redactor, RunFinished, RunStarted
from soundstage.live import LiveModel
from soundstage.models import JournaledModel, Model


class Provider(NamedTuple):
    """How a provider is found in the environment.

    Args:
        name: the format in which it is asked.
        key: the variable that holds the key.
        base_url: the variable that says where a proxy or a compatible server is.
        model: the model that is asked unless another one is named.
    """

    name: Literal["openai", "anthropic"]
    key: str
    base_url: str
    model: str


PROVIDERS: Final = (
    Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "gpt-4.1"),
    Provider("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "claude-sonnet-4-5"),
)


class MissingError(EnvironmentProblem):
    """Raised when a program cannot even begin: a key or an extra is not there."""


def variable(name: str, *, what: str, hint: str) -> str:
    """The value of a variable that the program cannot do without.

    Args:
        name: of the variable.
        what: what it holds: `the token of the bot`.
        hint: where to get it, or how to set it.

    Raises:
        MissingError: if it is not set, or empty.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        raise MissingError(f"{what} is missing", expected=f"{name} in the environment", hint=hint)
    return value


def need_extra(extra: str, module: str) -> None:
    """Check that an extra of the package is installed, by a module that it brings.

    Raises:
        MissingError: if it is not.
    """
    if importlib.util.find_spec(module) is None:
        raise MissingError(
            f"this program needs the extra {extra!r}",
            expected=f"the package that brings the module {module!r}",
            hint=f'pip install "soundstage[{extra}]"',
        )


def live_model(model: str = "") -> LiveModel:
    """The model of the provider whose key is in the environment; calls cost money.

    Args:
        model: its name; the provider's of `PROVIDERS`, unless given.

    Raises:
        MissingError: if there is no key.
    """
    for provider in PROVIDERS:
        key = os.environ.get(provider.key, "").strip()
        if key:
            base_url = os.environ.get(provider.base_url, "")
            named = model or provider.model
            return LiveModel(provider.name, api_key=key, base_url=base_url, model=named, allow=True)
    raise MissingError(
        "there is no key for a model",
        expected=" or ".join(provider.key for provider in PROVIDERS) + " in the environment",
        hint=f"export {PROVIDERS[0].key}=...; {PROVIDERS[0].base_url} names another server, if you have one",
    )


async def run_real(
    configure: Callable[[AppBuilder], object],
    *,
    model: Model | None = None,
    console: Any = None,
    discord: Any = None,
    journal: Path | None = None,
) -> None:
    """Run an app against the real world, until its input ends.

    Args:
        configure: what the app consists of.
        model: what its agents ask.
        console: what its console reads from and writes to, often a `SystemConsole`.
        discord: its gateway to Discord.
        journal: a file for the record of the run; one that is there is continued.
    """
    clock = SystemClock()
    app = AppBuilder().apply(configure).build()
    redactor = Redactor.from_environment(os.environ)
    with closing(Journal(journal, clock=clock, redactor=redactor)) as record:
        journaled = None if model is None else JournaledModel(model, record)
        # what stands before this in a file was dealt with by an earlier run
        record.append(
            RunStarted(name=configure.__module__.removesuffix("._app"), wall=clock.wall().isoformat()),
            source="program",
        )
        await app(StandaloneContext(record, clock, journaled, console, discord))
        record.append(RunFinished(), source="program")


def parser(program: str, about: str) -> argparse.ArgumentParser:
    """The command line of an example: `--help` shows `about`, `--journal` keeps a record.

    Args:
        program: the package: `examples.console_chat`.
        about: what it is, what it needs, how to try it.
    """
    made = argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="keep a record of the run; `soundstage show FILE` prints it",
    )
    return made


def model_parser(program: str, about: str) -> argparse.ArgumentParser:
    """The command line of an example that asks a model: `parser`, and `--model`; `--help` names the variables."""
    keys = "\n".join(
        f"  {provider.key:<18} {provider.model}, on the server at {provider.base_url} if that is set"
        for provider in PROVIDERS
    )
    made = parser(program, about)
    made.epilog = f"the first key in the environment says who is asked; calls cost money:\n{keys}"
    made.add_argument(
        "--model", default="", metavar="NAME", help="another model of the provider than the one below"
    )
    return made


def start(
    arguments: argparse.ArgumentParser, main: Callable[[argparse.Namespace], Coroutine[Any, Any, None]]
) -> NoReturn:
    """Run a program with what its command line says, and exit.

    Exit codes: 0 at the end of input, 1 if something failed, 2 if something is missing, 130 after Ctrl-C.
    """
    options = arguments.parse_args()
    try:
        run(main(options), clock=SystemClock())
    except MissingError as error:
        _leave(2, error)
    except SoundstageError as error:
        _leave(1, error)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)


def _leave(code: int, error: SoundstageError) -> NoReturn:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(code)
