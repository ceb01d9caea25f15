"""Functions of a script that raise: their run is an error of who wrote the script, and no failure of the agent.

An agent may swallow what comes of it, and a program sees no more than a status, so the error is remembered here.
"""

from __future__ import annotations

import asyncio
import linecache
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import soundstage
from soundstage.errors import NoMatchError, ScriptError, SoundstageError
from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models import Model, Reply, Wrapper, close, script_of

_OURS: Final = str(Path(soundstage.__file__).parent)
_ENDS: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt)  # of the run, not of the function


class WatchedScript(Wrapper):
    """Asks a scripted model, and remembers the first of its functions that was wrong.

    Args:
        inner: the model.
        case: the name of the case that is run.

    Attributes:
        problem: what was wrong; `None` if nothing was.
    """

    problem: ScriptError | None = None

    def __init__(self, inner: Model, case: str) -> None:
        super().__init__(inner)
        self._case = case

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply of the inner model. `ScriptError` for a function that raises."""
        stream = self.inner.stream(request)
        try:
            async for chunk in stream:
                yield chunk
        except _ENDS:
            raise
        except SoundstageError as error:
            if isinstance(error, ScriptError) and not isinstance(error, NoMatchError):
                self.problem = self.problem or error
            raise
        except BaseException as error:  # noqa: BLE001  (the user's own code; SystemExit would end the eval)
            found = _told(error, self._case)
            self.problem = self.problem or found
            raise found from None
        finally:
            await close(stream)


def watched(model: Model, case: str) -> Model:
    """A model whose functions are watched, if it is a script with functions; else the model itself."""
    script = script_of(model)
    if script is None or all(isinstance(rule.reply, Reply) for rule in script.rules):
        return model
    return WatchedScript(model, case)


def _told(error: BaseException, case: str) -> ScriptError:
    """The exception of a user's function as an error in the user's words, with the line, without frames of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [place for place, frame in enumerate(frames) if frame.filename.startswith(_OURS)]
    theirs = frames[ours[-1] + 1 :] if ours else frames
    told = f"{type(error).__name__}: {error}".rstrip(": ")
    if not theirs:
        return ScriptError(
            f"a reply of the script has raised, at the case {case!r}", seen=told, hint="correct the script"
        )
    last = [frame for frame in theirs if frame.filename == theirs[0].filename][-1]
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    return ScriptError(
        f"the function {theirs[0].name} of the script has raised {told}, at the case {case!r}",
        expected="a reply",
        seen=f"{last.filename}:{last.lineno}: {line}",
        hint="correct the function; script.on(...).error(...) is a reply that fails",
    )
