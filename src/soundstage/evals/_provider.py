"""An agent that is called as promptfoo calls providers: a function of a file, a command, by HTTP, or an echo."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.drivers import Command
from soundstage.errors import AppError, ScriptError
from soundstage.evals._agents import CommandAgent, EvalPlace, Respond
from soundstage.evals._http_provider import ask_http
from soundstage.evals._made_of import content_of
from soundstage.evals.evaluators._scripts import MARK, NODE_HOST, node_program, value_in
from soundstage.evals.promptfoo._http import HttpSource
from soundstage.evals.promptfoo._render import json_text

_PYTHON_HOST: Final = f"""
import asyncio, importlib.util, inspect, json, pathlib, sys
asked = json.load(sys.stdin)
sys.path.insert(0, str(pathlib.Path(asked["file"]).parent))
spec = importlib.util.spec_from_file_location("provider", asked["file"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
value = getattr(module, asked["name"] or "call_api")(asked["output"], asked["context"]["options"], asked["context"])
if inspect.isawaitable(value):
    value = asyncio.run(value)
print("\\n" + {MARK!r} + json.dumps({{"kind": type(value).__name__, "value": value}}))
"""


class ProviderSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of `echo`, `command`, `file` and `http`, and what it is given besides the prompt."""

    echo: bool = False
    command: tuple[str, ...] = ()
    file: str = ""
    http: HttpSource | None = None
    function: str = ""
    config: Mapping[str, Any] = {}
    vars: Mapping[str, Any] = {}


class ProviderAgent(msgspec.Struct, frozen=True):
    """A provider. A command gets the prompt, its options and the context as words; its output is the answer. A function
    gets the same as arguments, and returns `{output}` or `{error}`. What is asked by HTTP answers with its response.

    Args:
        source: which one.
        folder: where its files are.

    Raises:
        ScriptError: for none or several, and a file that is not there.
        EnvironmentProblem: if it is JavaScript, and there is no node.
    """

    source: ProviderSource
    folder: Path

    def __post_init__(self) -> None:
        one = self.source
        if one.echo + bool(one.command) + bool(one.file) + (one.http is not None) != 1:
            raise ScriptError(
                "a provider is one thing", expected="one of echo, command, file and http", seen=repr(one)
            )
        for file in self._files:
            if not (self.folder / file).is_file():
                raise ScriptError(f"there is no {file}")
        if one.http.has_code if one.http is not None else one.file and self._path.suffix != ".py":
            node_program()

    @property
    def _files(self) -> tuple[str, ...]:
        one = self.source
        return one.http.files if one.http is not None else (one.file,) if one.file else ()

    @property
    def _path(self) -> Path:
        return (self.folder / self.source.file).resolve()

    @property
    def made_of(self) -> bytes:
        """Its files, or those that its words name."""
        words = CommandAgent(self.source.command, self.folder)
        return words.made_of + b"\0".join(content_of(self.folder / file) for file in self._files)

    @asynccontextmanager
    async def conversation(self, place: EvalPlace) -> AsyncIterator[Respond]:
        """Ask it once for each input, without what was said before. `AppError` if it fails."""
        yield lambda prompt: self._answer(prompt, place)

    async def _answer(self, prompt: str, place: EvalPlace) -> str:
        if self.source.echo:
            return prompt
        options = {"id": self.source.file or "exec", "config": dict(self.source.config)}
        context = {
            "vars": dict(self.source.vars),
            "prompt": {"raw": prompt, "label": prompt},
            "options": options,
        }
        if self.source.command:
            told = [msgspec.json.encode(one).decode() for one in (options, context)]
            words = CommandAgent((*self.source.command, "{input}", *told), self.folder)
            async with words.conversation(place) as respond:
                return (await respond(prompt)).strip()
        if self.source.http is not None:
            place.settled(Path.home())
            return _answer_in(await ask_http(self.source.http, self.folder, prompt, self.source.vars, place))
        return await self._called(prompt, context, place)

    async def _called(self, prompt: str, context: dict[str, Any], place: EvalPlace) -> str:
        asked = {"file": str(self._path), "name": self.source.function, "output": prompt, "context": context}
        python = self._path.suffix == ".py"
        argv = [sys.executable, "-c", _PYTHON_HOST] if python else [node_program(), "-e", NODE_HOST]
        command = Command(
            argv,
            place.journal,
            cwd=place.workspace.root,
            environment=place.environment,
            stdin=msgspec.json.encode({**asked, "construct": True}).decode(),
            code=None,
            name="agent",
        )
        await command.start()
        try:
            place.settled(command.home)
            await command.wait(None, within=float("inf"))
        finally:
            await command.stop()
        value, problem = value_in(command.lines("stdout"), command.lines("stderr"))
        if problem:
            raise AppError(f"the provider failed: {problem}")
        return _answer_in(value)


def _answer_in(value: Any) -> str:
    """The answer in what a provider has returned; data as JSON."""
    if isinstance(value, dict) and value.get("error"):
        raise AppError(f"the provider failed: {value['error']}")
    output = value.get("output") if isinstance(value, dict) and "output" in value else value
    if output is None:
        raise AppError("the provider failed: it has no output")
    return output if isinstance(output, str) else json_text(output)
