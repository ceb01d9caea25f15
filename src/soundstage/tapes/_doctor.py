"""A program, or an app in process, run twice: the sources of nondeterminism that show in its requests.

The second run is on the tape of the first. A program in Python is watched in both (`_call_watch`): it finds a
`sitecustomize` of ours on its path, which goes on with its own. Other programs are compared without lines of code.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.drivers import AnyIsolation
from soundstage.errors import AppError
from soundstage.lifecycle import ScratchFolder
from soundstage.models import Model
from soundstage.tapes import _call_watch
from soundstage.tapes._call_watch import CallWatch, read_calls
from soundstage.tapes._playback import Playback, normaliser_of
from soundstage.tapes._recording import RecordingModel
from soundstage.tapes._replay import ReplayModel
from soundstage.tapes._run import RunOptions, run_with_tape
from soundstage.tapes._seen import SeenRequest
from soundstage.tapes._sources import Nondeterminism, of_model, sources_of
from soundstage.tapes._surroundings import NOWHERE
from soundstage.tapes._tape import Tape
from soundstage.tapes._twice import learned_of, run_again, unpaired
from soundstage.tapes._verdict import DivergenceError

_SITE: Final = '''"""Watches this program for `soundstage doctor`, then does what the next sitecustomize does."""
import importlib.machinery
import importlib.util
import sys


def _load(name, spec):
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


_found = importlib.util.spec_from_file_location("soundstage_call_watch", {watch!r})
_load("soundstage_call_watch", _found).watch_this_program()
sys.path[:] = [place for place in sys.path if place != {folder!r}]
_next = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
if _next is not None:
    _load("sitecustomize", _next)
'''


class DoctorOptions(NamedTuple):
    """A program, and how it is examined.

    Args:
        command: the program and its arguments.
        upstreams: base URLs of providers.
        script: a script that answers in the place of the providers.
        tape: a tape of the program; then its first run is that.
        live: ask the providers a second time, too, to see what of it is the model's.
        isolation: how far the second run is kept apart; as far as the system allows unless given.
    """

    command: tuple[str, ...]
    upstreams: Mapping[str, str] = {}
    script: Path | None = None
    tape: Path | None = None
    live: bool = False
    isolation: AnyIsolation | None = None


def examine(options: DoctorOptions) -> tuple[Nondeterminism, ...]:
    """Run a program twice; the sources of nondeterminism that show in what it asks models.

    Raises:
        AppError: if it asks no model.
        EnvironmentProblem: if it cannot be run, or a provider not be reached.
        TapeError: if the tape cannot be read.
    """
    scratch = ScratchFolder("doctor")
    try:
        return _examine(options, scratch.path)
    finally:
        scratch.close()


def _examine(options: DoctorOptions, folder: Path) -> tuple[Nondeterminism, ...]:
    run = RunOptions(
        folder / "first.tape",
        options.command,
        mode="all",
        upstreams=options.upstreams,
        script=options.script,
        isolation=options.isolation,
    )
    if options.tape is not None:
        Tape.load(options.tape)  # it can be read
        shutil.copy(options.tape, run.tape)
    else:
        _record(run._replace(environment=_watched(folder, "first")))
    second = run_again(run._replace(environment=_watched(folder, "second")))
    found = sources_of(
        second.learned,
        second.other,
        hosts=second.outcome.tried,
        first=read_calls(folder / "first.calls"),
        then=read_calls(folder / "second.calls"),
    )
    if not options.live:
        return found
    live = run._replace(tape=folder / "live.tape")
    _record(live)
    first, masks = Tape.load(run.tape), [mask for mask, _ in second.learned.masks]
    then = Tape.load(live.tape)
    return (*of_model(first, then, normaliser_of(first, then.head.places, masks)), *found)


def _record(run: RunOptions) -> None:
    outcome = run_with_tape(run)
    if not outcome.recorded:
        raise AppError(
            f"{run.command[0]} asked no provider",
            expected="a request at the address in OPENAI_BASE_URL, ANTHROPIC_BASE_URL or GOOGLE_GEMINI_BASE_URL",
            seen="; ".join(outcome.problems) or f"exit code {outcome.code}, no request",
            hint="give it one of them as its base URL",
        )


def _watched(folder: Path, name: str) -> dict[str, str]:
    """Variables that make a Python program write its calls into a file."""
    site = folder / "site"
    site.mkdir(exist_ok=True)
    text = _SITE.format(watch=_call_watch.__file__, folder=str(site))
    (site / "sitecustomize.py").write_text(text, encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH", ""))))
    return {"PYTHONPATH": path, _call_watch.FILE: str(folder / f"{name}.calls")}


async def find_nondeterminism(
    app: Callable[[Model], Awaitable[object]], model: Model
) -> tuple[Nondeterminism, ...]:
    """Run an app twice in this process; the sources of nondeterminism that show in what it asks the model.

    Each names the request and its part, both texts, and the line of code whose call returned them, if it is known. The
    second run is answered from the first one's tape.

    Args:
        app: gets a model, and asks it.
        model: answers the first run.

    Raises:
        AppError: if the app asks nothing.

    Example:
        >>> import itertools
        >>> from soundstage.clock import run
        >>> from soundstage.messages import ModelRequest, user
        >>> from soundstage.models import Script, ScriptedModel, complete
        >>> script, orders = Script(), itertools.count(2041)
        >>> script.otherwise("ok")
        >>> async def app(model):
        ...     asked = user(f"cancel order {next(orders)}")
        ...     await complete(model, ModelRequest(model="m", messages=(asked,)))
        >>> [found] = run(find_nondeterminism(app, ScriptedModel(script)))
        >>> found.where, found.differed
        ('request 1, messages[0] user, part 1', "'2041', then '2042'")
    """
    tape = Tape()
    with CallWatch() as first:
        await app(RecordingModel(model, tape))
    if not len(tape):
        raise AppError("the app asked no model", expected="a request to the model that it was given")
    playback = Playback(tape, relaxed=True)
    with CallWatch() as then, contextlib.suppress(DivergenceError):  # the verdict is kept
        await app(ReplayModel(tape, playback=playback))
    playback.finish()
    missed = [SeenRequest(request=request, verdict=verdict) for verdict, request in playback.missed]
    return sources_of(
        learned_of(tape, missed, NOWHERE), unpaired(playback.verdicts), first=first.calls, then=then.calls
    )
