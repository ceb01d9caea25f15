"""Settings: one frozen record, out of five places. Later ones win.

1. the defaults below
2. `[tool.soundstage]` in `pyproject.toml`
3. `soundstage.toml` beside it
4. variables of the environment: `SOUNDSTAGE_SEED=7`
5. what the caller gives: options of the command line, marks of a test

Both files belong to the nearest folder, from the start upwards, that holds one of them. Every value knows
where it comes from. An unknown key and a value of the wrong type are errors, wherever they stand: a misspelt
setting that silently does nothing is worse than none.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin

import msgspec

from soundstage.errors import ConfigError, near_names

__all__ = ["Settings", "load_settings"]

PREFIX: Final = "SOUNDSTAGE_"
_DEFAULT: Final = "default"
# Variables with the same prefix that are no settings: they hold for one machine or one call, and in no file.
_OTHER_VARIABLES: Final = frozenset(
    {
        "SOUNDSTAGE_ALLOW_LIVE",
        "SOUNDSTAGE_ARTIFACTS",
        "SOUNDSTAGE_CHROMIUM",
        "SOUNDSTAGE_CLAUDE",
        "SOUNDSTAGE_MAY_SKIP",
        "SOUNDSTAGE_NO_SKIPS",
        "SOUNDSTAGE_PLUGINS",
        "SOUNDSTAGE_PROJECTS",
        "SOUNDSTAGE_TOKEN",
        "SOUNDSTAGE_WATCHED_CALLS",
    }
)
_PATHS: Final = ("journal", "runs", "scenarios")  # settings that are relative to the file that has them
_MCP: Final = "SOUNDSTAGE_MCP"  # by which a program that is recorded or replayed finds its MCP servers
_WORDS: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the command line and the pytest plugin.

    Args:
        host: the address that `soundstage serve` listens on.
        port: its port; 0 picks a free one.
        journal: a file to keep the journal in; none if empty. In a settings file: relative to that file.
        strict: a request that no rule answers is an error.
        seed: where ids come from.
        egress: what a test does when its app tries to reach a host outside, which is refused: `fail`, or `allow` it
            to try; `closed` fails, and refuses what is on this machine and not of the run, too.
        runs: the folder in which runs are kept. In a settings file: relative to that file.
        runs_index: URL of a database for their index; a file in that folder if empty.
        runs_max_age_days: the age at which a cleanup removes a run.
        runs_min_free_mb: megabytes of the disk that shall be free: with less, keeping a run removes old ones; 0 never.
        run_model: the model that an `AgentRunner` starts its target with; the target's own choice if empty.
        run_timeout: seconds that a run of an `AgentRunner` may take.
        scenarios: the folder of scenarios: their definitions and recordings. In a settings file: relative to that file.
        sources: where each value that is not a default comes from; see `source`.
    """

    host: Annotated[str, msgspec.Meta(min_length=1)] = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    journal: str = ""
    strict: bool = False
    seed: int = 0
    egress: Literal["fail", "allow", "closed"] = "fail"
    runs: Annotated[str, msgspec.Meta(min_length=1)] = ".soundstage"
    runs_index: str = ""
    runs_max_age_days: Annotated[int, msgspec.Meta(ge=0)] = 30
    runs_min_free_mb: Annotated[int, msgspec.Meta(ge=0)] = 0
    run_model: str = ""
    run_timeout: Annotated[float, msgspec.Meta(gt=0)] = 600.0
    scenarios: Annotated[str, msgspec.Meta(min_length=1)] = "scenarios"
    sources: dict[str, str] = {}

    def source(self, name: str) -> str:
        """The source of a value: `default`, a file, a variable, or `given by the caller`.

        Raises:
            ConfigError: if there is no such setting.
        """
        if name not in _TYPES:
            raise _unknown(name, "source")
        return self.sources.get(name, _DEFAULT)


_TYPES: Final[dict[str, Any]] = {
    field.name: field.type for field in msgspec.structs.fields(Settings) if field.name != "sources"
}


class _Given(NamedTuple):
    """A value as it was found."""

    name: str
    value: Any
    source: str
    text: bool = False  # written as text, whatever it means: in the environment


def load_settings(
    start: Path, environment: Mapping[str, str], overrides: Mapping[str, Any] | None = None
) -> Settings:
    """The settings that hold in a folder.

    Args:
        start: the folder from which to look for settings files, upwards.
        environment: variables; those that begin with `SOUNDSTAGE_` count.
        overrides: what the caller gives; a value of `None` is not given.

    Raises:
        ConfigError: for a file that is not TOML, an unknown key, or a value of the wrong type.

    Example:
        >>> settings = load_settings(Path("/nowhere"), {"SOUNDSTAGE_SEED": "7"})
        >>> settings.seed, settings.source("seed"), settings.source("port")
        (7, 'environment SOUNDSTAGE_SEED', 'default')
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for given in (*_from_files(start), *_from_environment(environment), *_from_caller(overrides or {})):
        values[given.name] = _checked(given)
        sources[given.name] = given.source
    return Settings(**values, sources=sources)


def _from_files(start: Path) -> Iterator[_Given]:
    for folder in (start, *start.parents):
        project, own = folder / "pyproject.toml", folder / "soundstage.toml"
        if project.is_file() or own.is_file():
            yield from _from_table(_table(_toml(project), "tool", "soundstage"), project, "[tool.soundstage]")
            yield from _from_table(_toml(own), own, "")
            return


def _toml(path: Path) -> Any:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML", seen=str(error), hint="correct that line") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read", seen=error.strerror or str(error)) from None


def _table(document: Any, *keys: str) -> Any:
    for key in keys:
        document = document.get(key, {}) if isinstance(document, Mapping) else document
    return document


def _from_table(table: Any, path: Path, section: str) -> Iterator[_Given]:
    source = f"{path} {section}".rstrip()
    if not isinstance(table, Mapping):
        raise ConfigError(
            f"{source} is not a table", expected="[tool.soundstage] and keys below it", seen=repr(table)
        )
    for name, value in table.items():
        beside = name in _PATHS and isinstance(value, str) and value
        yield _Given(name, str(path.parent / value) if beside else value, source)


def _from_environment(environment: Mapping[str, str]) -> Iterator[_Given]:
    for variable, value in sorted(environment.items()):
        if variable.startswith(PREFIX) and not variable.startswith(_MCP) and variable not in _OTHER_VARIABLES:
            name = variable.removeprefix(PREFIX).lower()
            yield _Given(name, value, f"environment {variable}", text=True)


def _from_caller(overrides: Mapping[str, Any]) -> Iterator[_Given]:
    for name, value in overrides.items():
        if value is not None:
            plain = os.fspath(value) if isinstance(value, os.PathLike) else value
            yield _Given(name, plain, "given by the caller")


def _checked(given: _Given) -> Any:
    if given.name not in _TYPES:
        raise _unknown(given.name, given.source)
    try:
        return msgspec.convert(given.value, _TYPES[given.name], strict=not given.text)
    except msgspec.ValidationError:
        raise ConfigError(
            f"{given.source}: the setting {given.name!r} has a wrong value",
            expected=_expected(given.name),
            seen=repr(given.value),
            hint=f"{given.name} = {msgspec.json.encode(_default(given.name)).decode()} is the default",
        ) from None


def _expected(name: str) -> str:
    base, *limits = get_args(_TYPES[name]) or (_TYPES[name],)
    if get_origin(_TYPES[name]) is Literal:
        return " or ".join((base, *limits))
    return _WORDS[base] + "".join(
        f" {word} {bound}"
        for limit in limits
        for word, bound in (("from", limit.ge), ("above", limit.gt), ("to", limit.le))
        if bound is not None
    )


def _default(name: str) -> Any:
    return getattr(Settings(), name)


def _unknown(name: str, source: str) -> ConfigError:
    near = near_names(name.replace("-", "_"), _TYPES, cutoff=0.5)
    return ConfigError(
        f"{source}: there is no setting {name!r}",
        expected="one of " + ", ".join(_TYPES),
        hint=f"write {near[0]!r}" if near else "remove it",
    )
