"""Where the model of a good run comes from: a script today, a tape as soon as it gives a model for each run."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from soundstage.models import Model, Script, ScriptedModel, load_script


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
    """The models of a script file.

    Raises:
        ScriptLoadError: if the script is wrong.
    """
    return scripted(load_script(path))
