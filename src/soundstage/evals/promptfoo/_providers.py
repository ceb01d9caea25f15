"""The providers of a configuration: live models by their formats, and programs that answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError, did_you_mean
from soundstage.evals.promptfoo._asserts import transform_of
from soundstage.evals.promptfoo._http import read_http
from soundstage.evals.promptfoo._reading import FILE, PromptfooReading, each, part_of
from soundstage.guard import real_variable
from soundstage.scripts import SourceNode, in_one_line

_KEYS: Final = {"id", "label", "config", "prompts", "transform"}
_REFUSED: Final = {
    "env": "set variables where the eval is started",
    "delay": "runs are not delayed: lower the concurrency",
    "inputs": "inputs of several parts are not served",
}
_ENV: Final = re.compile(r"\{\{\s*env\.(\w+)\s*\}\}")
_COMMON: Final = {"temperature", "max_tokens", "top_p", "stop", "tools", "tool_choice"}
_OPENAI: Final = _COMMON | {
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "max_completion_tokens",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "user",
    "logprobs",
    "top_logprobs",
}
_RESPONSES: Final = {"temperature", "max_output_tokens", "top_p", "instructions", "reasoning", "text"}
_ANTHROPIC: Final = {"temperature", "max_tokens", "top_p", "top_k", "stop_sequences", "thinking"}
_GEMINI: Final = {"generationConfig"}


class _Family(NamedTuple):
    """Providers of one format: settings that it takes, and variables that say where it is."""

    format: str
    settings: set[str]
    addresses: tuple[str, ...]
    suffix: str = ""  # of the address, where promptfoo's has less


_FAMILIES: Final = {
    "openai:chat": _Family("openai", _OPENAI, ("OPENAI_API_BASE_URL", "OPENAI_BASE_URL")),
    "openai:responses": _Family("openai-responses", _RESPONSES, ("OPENAI_API_BASE_URL", "OPENAI_BASE_URL")),
    "anthropic:messages": _Family("anthropic", _ANTHROPIC, ("ANTHROPIC_BASE_URL",)),
    "google": _Family("gemini", _GEMINI, ("GOOGLE_API_BASE_URL",)),
}
_OTHERS: Final = (
    "embedding",
    "embeddings",
    "image",
    "moderation",
    "assistant",
    "realtime",
    "completion",
    "transcription",
)
_ALWAYS: Final = {"apiBaseUrl", "apiKeyEnvar", "apiKey"}


class SourceProvider(NamedTuple):
    """A provider.

    Args:
        name: its label, or its id.
        id: as promptfoo names it.
        agent: as a suite has it, without what depends on the case.
        live: where the model is; `None` for a program.
        transform: of its answers, if it has one.
        prompts: labels of the prompts that it gets; all if empty.
    """

    name: str
    id: str
    agent: dict[str, Any]
    live: dict[str, Any] | None
    transform: dict[str, Any] | None
    prompts: tuple[str, ...]

    @property
    def declared(self) -> Mapping[str, Any]:
        """Its `config`: that of a program, or the settings of a model."""
        found: Mapping[str, Any] = self.agent.get("settings") or self.agent.get("provider", {}).get(
            "config", {}
        )
        return found


def read_providers(root: SourceNode, reading: PromptfooReading) -> list[SourceProvider]:
    """The providers of a configuration, those that are served."""
    name = "providers" if "providers" in root.fields else "targets"
    node = part_of(root, name)
    if node is None:
        reading.refuse(root, "providers", "expected `providers`: who answers the prompts")
        return []
    return [one for key, item in each(node, name) for one in _providers(item, key, reading)]


def _providers(item: SourceNode, key: str, reading: PromptfooReading) -> list[SourceProvider]:
    if (
        isinstance(item.value, str)
        and item.value.startswith(FILE)
        and item.value.endswith((".yaml", ".yml", ".json"))
    ):
        return [
            one
            for path in reading.paths(item.value, item, key)
            for data in [reading.data(path)]
            if data is not None
            for place, part in each(data, key)
            for one in _providers(part, place, reading)
        ]
    given = item
    if isinstance(item.value, dict) and "id" not in item.fields and len(item.fields) == 1:
        ((name, field),) = item.fields.items()
        given = field.node
        if isinstance(given.value, dict):
            return _made(name, given, item, f"{key}.{name}", reading)
    if isinstance(given.value, str):
        return _made(given.value, SourceNode({}, item.line), item, key, reading)
    identity = part_of(item, "id")
    if identity is None or not isinstance(identity.value, str):
        reading.refuse(item, key, "expected the `id` of a provider")
        return []
    return _made(identity.value, item, identity, key, reading)


def _made(
    name: str, item: SourceNode, place: SourceNode, key: str, reading: PromptfooReading
) -> list[SourceProvider]:
    before = len(reading.report.problems)
    reading.known(item, key, _KEYS, _REFUSED, {})
    config, label = part_of(item, "config"), part_of(item, "label")
    transform = part_of(item, "transform")
    agent: dict[str, Any] = {}
    live: dict[str, Any] | None = None
    changed: dict[str, Any] | None = None

    def tell(error: ScriptError) -> None:
        reading.refuse(place, key, in_one_line(error))

    try:
        agent, live = _agent(name, config.value if config is not None else {}, tell)
        file = agent.get("provider", {}).get("file")
        if file and not (reading.folder / file).is_file():
            tell(ScriptError(f"there is no {file}"))
    except ScriptError as error:
        tell(error)
    try:
        changed = None if transform is None else transform_of(transform.value)
    except ScriptError as error:
        tell(error)
    if len(reading.report.problems) > before:
        return []
    shown = name if label is None else str(label.value)
    prompts = tuple(str(one.value) for _, one in each(part_of(item, "prompts"), ""))
    return [SourceProvider(shown, name, agent, live, changed, prompts)]


def _agent(
    name: str, config: Any, tell: Callable[[ScriptError], None]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    if not isinstance(config, dict):
        raise ScriptError("the `config` of a provider is a mapping", seen=repr(config))
    for begin, make in _PROGRAMS.items():
        if name == begin or (begin.endswith((":", "/")) and name.startswith(begin)):
            return {"provider": make(name, config)}, None
    family, model = _family(name)
    settings = {key: value for key, value in config.items() if key not in _ALWAYS | {"passthrough"}}
    for key in settings:
        if key not in family.settings:
            hint = did_you_mean(key, family.settings | _ALWAYS)
            tell(ScriptError(f"the setting {key!r} of {name} is not served", hint=hint))
    passthrough = config.get("passthrough", {})
    if not isinstance(passthrough, dict):
        raise ScriptError("`passthrough` of a provider is a mapping", seen=repr(passthrough))
    settings |= passthrough
    return {"model": f"{family.format}/{model}", **({"settings": settings} if settings else {})}, _live(
        family, model, config
    )


def _live(family: _Family, model: str, config: dict[str, Any]) -> dict[str, Any]:
    """Where the model is, and the variable that has the key."""
    address = config.get("apiBaseUrl") or next(filter(None, map(real_variable, family.addresses)), "")
    live = {"format": family.format, "model": model, **({"base_url": address} if address else {})}
    key = config.get("apiKeyEnvar")
    if "apiKey" in config:
        found = _ENV.fullmatch(str(config["apiKey"]))
        if found is None:
            raise ScriptError(
                "a key does not belong into a file", hint="write apiKeyEnvar: NAME of a variable"
            )
        key = found[1]
    return {**live, **({"key": key} if key else {})}


def _family(name: str) -> tuple[_Family, str]:
    """The format of a provider, and its model."""
    head, _, rest = name.partition(":")
    kind, _, model = rest.partition(":")
    if f"{head}:{kind}" in _FAMILIES and model:
        return _FAMILIES[f"{head}:{kind}"], model
    if head == "openai" and rest and kind not in _OTHERS:
        return _FAMILIES["openai:chat"], rest
    if head == "anthropic" and rest and not model:
        return _FAMILIES["anthropic:messages"], rest
    if head == "google" and rest and not model:
        return _FAMILIES["google"], rest
    known = [*_FAMILIES, "openai:MODEL", *_PROGRAMS]
    raise ScriptError(
        f"the provider {name!r} is not served",
        expected=", ".join(known),
        hint=did_you_mean(head, [one.partition(":")[0] for one in known])
        or "a model behind another address: openai:MODEL with apiBaseUrl and apiKeyEnvar",
    )


def _script(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """A provider in a file: `python:provider.py:function`, `file://provider.js`."""
    path = name.removeprefix("python:").removeprefix("javascript:").removeprefix(FILE)
    file, _, function = path.partition(":")
    if not file.endswith((".py", ".js", ".cjs", ".mjs")):
        raise ScriptError("a provider in a file is Python or JavaScript", seen=name)
    return {
        "file": file,
        **({"function": function} if function else {}),
        **({"config": config} if config else {}),
    }


def _exec(name: str, config: dict[str, Any]) -> dict[str, Any]:
    try:
        words = shlex.split(name.removeprefix("exec:"))
    except ValueError as error:
        raise ScriptError("this command cannot be read", seen=f"{name}: {error}") from None
    if not words:
        raise ScriptError("a command needs at least the program", seen=name)
    return {"command": words, **({"config": config} if config else {})}


_PROGRAMS: Final[dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]]] = {
    "echo": lambda _, __: {"echo": True},
    "exec:": _exec,
    "python:": _script,
    "javascript:": _script,
    FILE: _script,
    "http:": read_http,
    "https:": read_http,
    "http": read_http,  # the address stands in its `url`
    "https": read_http,
}
