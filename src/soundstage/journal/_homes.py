"""Event classes of the wings: found when a file has one of them, and not before.

A reader of a file meets events of packages that it has not imported: of an app's parts, of a virtual Discord, of a wing
that somebody else has written. Importing them all would make every start slow. So the modules that the wings name are
imported at the first event of a class that is not loaded, one after the other, until the class is there.

An event whose class no wing has stays an `UnknownEvent`: an app's own classes are known once the app is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Container

from soundstage.errors import EnvironmentProblem
from soundstage.wings import wings

_tried: set[str] = set()


def load_home(kind: str, known: Callable[[], Container[str]]) -> bool:
    """Import modules with event classes until there is one called `kind`; whether there is.

    A module whose extra is not installed counts as none: its events stay unknown.

    Args:
        kind: name of the class.
        known: gives the names of the classes that are loaded.
    """
    for module in (module for wing in wings() for module in wing.events):
        if kind in known():
            return True
        if module not in _tried:
            _tried.add(module)
            _load(module)
    return kind in known()


def _load(module: str) -> None:
    try:
        importlib.import_module(module)
    except EnvironmentProblem:
        return
    except ModuleNotFoundError as error:
        if error.name is None or module.startswith(error.name):  # the wing itself is wrong
            raise
