"""The configuration of a run, out of five places, with the source of each value. Pure.

From the weakest to the strongest: defaults, settings file, `config=` of the runner, environment, call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from soundstage.config import Settings
from soundstage.errors import ConfigError, near_names

_DEFAULT: Final = "default"
_PREFIX: Final = "run_"  # of the settings that are of runs
_ENVIRONMENT: Final = "environment"
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class RunConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is made.

    Args:
        model: the model that the target is started with, and by whose price a cost is projected; the target's own
            choice if empty.
        timeout: seconds for the whole run, all attempts and watchers included.
        session_timeout: seconds for one prompt of a session; no limit of its own if `None`.
        options: what else the target is started with, by its own names: `permission_mode`...
        sources: where each value that is not a default comes from; see `source`.
    """

    model: str = ""
    timeout: Seconds = 600.0
    session_timeout: Seconds | None = None
    options: dict[str, Any] = {}
    sources: dict[str, str] = {}

    @property
    def start(self) -> dict[str, Any]:
        """The options that the target is started with: `model`, if there is one, and `options`.

        >>> RunConfig(model="claude-opus-5-5", options={"max_turns": 3}).start
        {'model': 'claude-opus-5-5', 'max_turns': 3}
        """
        return ({"model": self.model} if self.model else {}) | self.options

    def source(self, path: str) -> str:
        """The source of a value, by its path: `model`, `options.max_turns`.

        Raises:
            ConfigError: if there is no such value.
        """
        name, _, option = path.partition(".")
        if name not in _TYPES or (option and option not in self.options):
            raise _unknown(path, "source")
        return self.sources.get(path, _DEFAULT)


_TYPES: Final[dict[str, Any]] = {
    field.name: field.type for field in msgspec.structs.fields(RunConfig) if field.name != "sources"
}


class _Layer(NamedTuple):
    """Values from one place."""

    source: str
    values: Mapping[str, Any]


def run_config(
    settings: Settings | None = None,
    config: Mapping[str, Any] | None = None,
    call: Mapping[str, Any] | None = None,
) -> RunConfig:
    """The configuration that holds. Options of the target are put together one by one.

    Args:
        settings: files and environment, as `load_settings` has read them; the defaults unless given.
        config: of the runner.
        call: of this run.

    Raises:
        ConfigError: for an unknown key or a value of the wrong type; the message has its path.

    Example:
        >>> found = run_config(config={"model": "gpt-4o", "options": {"seed": 1}}, call={"options": {"seed": 2}})
        >>> found.start, found.source("model"), found.source("options.seed")
        ({'model': 'gpt-4o', 'seed': 2}, 'config', 'call')
    """
    values: dict[str, Any] = {"options": {}}
    sources: dict[str, str] = {}
    from_files, from_environment = _of_settings(settings or Settings())
    for layer in (*from_files, _Layer("config", config or {}), *from_environment, _Layer("call", call or {})):
        for name, value in layer.values.items():
            checked = _checked(layer.source, name, value)
            if name == "options":
                values["options"] |= checked
                sources |= {f"options.{option}": layer.source for option in checked}
            else:
                values[name] = checked
                sources[name] = layer.source
    return RunConfig(**values, sources=sources)


def _of_settings(settings: Settings) -> tuple[list[_Layer], list[_Layer]]:
    """The settings of runs that somebody has given: those of files, and those of the environment."""
    found = list(_given(settings))
    return (
        [layer for layer in found if not layer.source.startswith(_ENVIRONMENT)],
        [layer for layer in found if layer.source.startswith(_ENVIRONMENT)],
    )


def _given(settings: Settings) -> Iterator[_Layer]:
    for name, source in settings.sources.items():
        if name.startswith(_PREFIX):
            yield _Layer(source, {name.removeprefix(_PREFIX): getattr(settings, name)})


def _checked(source: str, name: str, value: Any) -> Any:
    if name not in _TYPES:
        raise _unknown(name, source)
    try:
        return msgspec.convert(value, _TYPES[name])
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{source}.{name} has a wrong value", expected=str(error), seen=repr(value)
        ) from None


def _unknown(name: str, source: str) -> ConfigError:
    near = near_names(name, _TYPES)
    own = f"options={{{name!r}: ...}} for an option of the target"
    return ConfigError(
        f"{source}.{name}: a run has no such setting",
        expected="one of " + ", ".join(_TYPES),
        hint=f"write {near[0]!r}, or {own}" if near else own,
    )
