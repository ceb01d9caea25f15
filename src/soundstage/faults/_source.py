"""Where the model of a good run comes from: a script, or a file of a wing that answers as a model, such as a tape."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from soundstage.models import Model, Script, ScriptedModel, load_script
from soundstage.wings import reader_of


class ModelSource(Protocol):
    """Gives a model for one run; each call gives a new one, that begins at the beginning.

    Example:
        >>> script = Script()
        >>> _ = script.on(user="hello").reply("hi")
        >>> source: ModelSource = scripted(script)
        >>> source() is source()
        False
    """

    def __call__(self) -> Model:
        """A model of a good run."""
        ...


def scripted(script: Script) -> ModelSource:
    """The models of a script, one for each run."""
    return lambda: ScriptedModel(script, shared=True)


def source_in(path: Path) -> ModelSource:
    """The models of a script file, or of a file that a wing reads (`Wing.models`): a tape.

    Raises:
        ScriptLoadError: if the script is wrong.
        SoundstageError: what the wing raises for a file of its own.
    """
    models: Callable[[Path], ModelSource] | None = reader_of(path, lambda wing: wing.models)
    return models(path) if models is not None else scripted(load_script(path))
