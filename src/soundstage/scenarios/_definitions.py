"""The definitions of scenarios, in the Python files of the folder that the setting `scenarios` names."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from soundstage.errors import ScriptError, did_you_mean
from soundstage.scenarios._errors import ScenarioNotFoundError, ScenarioVersionError
from soundstage.scenarios._folder import ScenarioRecording
from soundstage.scenarios._scenario import Scenario


def definitions(root: Path) -> dict[str, type[Scenario]]:
    """The scenarios that the files of a folder define, by name, sorted.

    Raises:
        ScriptError: if a file cannot be imported, a sheet has empty fields, or two have one name.
    """
    found: dict[str, type[Scenario]] = {}
    for path in sorted(root.glob("[!_]*.py")):
        for made in _scenarios_of(path):
            problems = list(made.problems())
            if made.name in found:
                problems.append(f"two scenarios are called {made.name!r}")
            if problems:
                raise ScriptError(
                    f"the scenario {made.__name__} in {path} cannot be used",
                    expected="a name of its own, and a sheet with workspace, prompt, output and owner",
                    seen="\n".join(problems),
                )
            found[made.name] = made
    return dict(sorted(found.items()))


def definition(root: Path, name: str) -> Scenario:
    """The scenario of a name, made.

    Raises:
        ScenarioNotFoundError: if no file defines it; the message lists those that there are.
        TypeError: if it lacks one of the three methods.
    """
    known = definitions(root)
    if name not in known:
        raise ScenarioNotFoundError(
            f"no file in {root} defines the scenario {name!r}",
            expected="one of " + ", ".join(known)
            if known
            else "a class that is a soundstage.scenarios.Scenario",
            seen=did_you_mean(name, known),
            hint="soundstage scenario list shows them; the setting `scenarios` names the folder",
        )
    return known[name]()


def require_version(root: Path, recording: ScenarioRecording) -> None:
    """Refuse a recording that was made of another version of its definition, if there is one.

    Raises:
        ScenarioVersionError: then.
    """
    known = recording.metadata
    made = definitions(root).get(known.copied_from or known.name)
    if made is not None and made.version != known.version:
        raise ScenarioVersionError(
            f"{known.name!r} was recorded of version {known.version} of its scenario",
            expected=f"version {made.version}, as its definition says",
            hint=f"soundstage scenario record {made.name}; relaxed=True replays it nevertheless",
        )


def _scenarios_of(path: Path) -> Iterator[type[Scenario]]:
    module = f"soundstage_scenarios_{path.stem}"
    spec = importlib.util.spec_from_file_location(module, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded  # dataclasses and pickles of the file look it up
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(loaded)
    except Exception as error:
        raise ScriptError(f"{path} cannot be imported", seen=f"{type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
    for made in vars(loaded).values():
        if inspect.isclass(made) and issubclass(made, Scenario) and made.__module__ == module:
            if not made.name and (inspect.isabstract(made) or made.__subclasses__()):
                continue  # a base of others
            yield made
