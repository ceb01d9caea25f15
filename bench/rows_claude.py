"""A Claude Code run through the driver against the bare CLI: one prompt, one answer, from start to exit.

Ours is what a test does: our server, journal and proxy are started, the real CLI is started in a throw-away
home, gets a prompt, answers, and is ended; nothing of it is left. The bare run is the same CLI with the same
arguments and variables, started with `subprocess`, against a server that sends constant bytes.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from _load import BenchError
from _pairs import interleave, median, ratio
from _servers import constant, server
from _settings import Settings
from _table import Row, millis

NAME = "claude"
PROMPT, ANSWER = "Say hello.", "Hello, this is the scripted answer."
WITHIN = 60.0
_NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9") | {
    "NO_PROXY": "127.0.0.1"
}
_DEAD_PROXY = {
    **_NOWHERE,
    **{name.lower(): value for name, value in _NOWHERE.items()},
    "NODE_USE_ENV_PROXY": "1",
}
PLUGINS = Path(__file__).resolve().parent.parent / "examples" / "plugins"
PLUGIN_WHAT = "a plugin command test: install, start, expand, two turns, checks"
WHAT, AGAINST = "a Claude Code run through the driver, one prompt", "the bare CLI and a constant server"


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    absent = _missing()
    if absent:
        yield Row(WHAT, AGAINST, absent, target=1.15, bound="at most")
        return
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.sse"
        answer.write_bytes(_events())
        with server(constant(answer, "text/event-stream"), core=None) as port:
            turns = {"driver": _driven, "bare": lambda: _bare(port)}
            settings.tell("warming up")
            interleave(turns, 1)
            times = interleave(turns, settings.scaled(15, least=3), settings.tell)
            plugin = {"driver": _driven_plugin, "bare": lambda: _bare_plugin(port)}
            settings.tell("warming up the plugin")
            interleave(plugin, 1)
            plugin_times = interleave(plugin, settings.scaled(9, least=3), settings.tell)
    yield _row(WHAT, AGAINST, times, 1.15)
    yield _row(PLUGIN_WHAT, "the bare CLI doing the same", plugin_times, 1.3)


def _row(what: str, against: str, times: dict[str, list[float]], target: float) -> Row:
    figures = f"{millis(median(times['driver']))} : {millis(median(times['bare']))}"
    return Row(what, against, figures, ratio(times["driver"], times["bare"]), target, "at most")


def _missing() -> str:
    from soundstage.claude_code import find_cli
    from soundstage.errors import EnvironmentProblem

    try:
        find_cli()
    except EnvironmentProblem as problem:
        return problem.summary
    return ""


def _driven() -> float:
    """Seconds of a run through the driver."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        text = asyncio.run(_drive(Path(folder)))
        elapsed = time.perf_counter() - start
    return _checked(text, elapsed)


async def _drive(workspace: Path) -> str:
    from soundstage.claude_code import ClaudeCode
    from soundstage.journal import Journal
    from soundstage.models import Script, ScriptedModel
    from soundstage.wire import ModelServer

    script = Script()
    script.on(user=PROMPT).reply(ANSWER)
    journal = Journal()
    model_server = ModelServer(ScriptedModel(script), journal)
    claude = ClaudeCode(journal, model_server, workspace)
    await model_server.start()
    await claude.start()
    turn = await claude.prompt(PROMPT, within=WITHIN)
    await claude.stop()
    await model_server.stop()
    return turn.text


def _driven_plugin() -> float:
    """Seconds of a plugin test: install and start, run a command and a prompt, check what the model received."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        text = asyncio.run(_drive_plugin(Path(folder)))
        elapsed = time.perf_counter() - start
    return _checked(text, elapsed)


async def _drive_plugin(workspace: Path) -> str:
    from soundstage.claude_code import ClaudeCode
    from soundstage.journal import Journal
    from soundstage.models import Script, ScriptedModel
    from soundstage.wire import ModelServer

    script = Script()
    script.on(user="/./").reply(ANSWER)
    journal = Journal()
    model_server = ModelServer(ScriptedModel(script), journal)
    claude = ClaudeCode(journal, model_server, workspace, opens=False)
    await model_server.start()
    await claude.start()
    installing = claude.plugins.install("agent-loop", marketplace=PLUGINS)
    session, plugin = await asyncio.gather(claude.open(), installing)  # neither needs the other
    await session.reload_plugins()
    turn = await session.run_command("/agent-loop:explore", "the parser", within=WITHIN)
    last = await claude.prompt(PROMPT, within=WITHIN)
    await claude.stop()
    await model_server.stop()
    if plugin.status != "loaded" or turn.expansion is None or "the parser" not in turn.expansion.text:
        raise BenchError(f"the command of the plugin did not reach the model: {turn.expansion}")
    return last.text


def _bare_plugin(port: int) -> float:
    """Seconds of the same with the CLI alone."""
    with tempfile.TemporaryDirectory() as folder:
        root, workspace = Path(folder) / "root", Path(folder) / "workspace"
        for made in (root / "home", root / "tmp", workspace):
            made.mkdir(parents=True)
        environment, command = _environment(root, port), _command()
        start = time.perf_counter()
        for arguments in (("marketplace", "add", str(PLUGINS)), ("install", "agent-loop")):
            plugin = [command[0], "plugin", *arguments]
            subprocess.run(plugin, cwd=workspace, env=environment, capture_output=True, check=True)
        prompts = ("/agent-loop:explore the parser", PROMPT)
        text = _prompted(command, environment, workspace, prompts)
        elapsed = time.perf_counter() - start
    return _checked(text, elapsed)


def _bare(port: int) -> float:
    """Seconds of a run of the CLI alone."""
    with tempfile.TemporaryDirectory() as folder:
        root, workspace = Path(folder) / "root", Path(folder) / "workspace"
        for made in (root / "home", root / "tmp", workspace):
            made.mkdir(parents=True)
        start = time.perf_counter()
        text = _prompted(_command(), _environment(root, port), workspace)
        elapsed = time.perf_counter() - start
    return _checked(text, elapsed)


def _prompted(
    command: list[str], environment: dict[str, str], cwd: Path, prompts: tuple[str, ...] = (PROMPT,)
) -> str:
    """Send prompts, each after the result of the last. The last result."""
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = (json.loads(line) for line in process.stdout)
        for prompt in prompts:
            message = {"type": "user", "message": {"role": "user", "content": prompt}}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            result = next((line["result"] for line in said if line["type"] == "result"), "")
        process.stdin.close()
        process.stdout.read()
    return str(result)


def _command() -> list[str]:
    from soundstage.claude_code import SessionOptions, find_cli
    from soundstage.claude_code._options import arguments
    from soundstage.clock import IdSource

    return [str(find_cli()), *arguments(SessionOptions(), IdSource().uuid())]


def _environment(root: Path, port: int) -> dict[str, str]:
    from soundstage.claude_code._environment import claude_environment
    from soundstage.drivers._isolation import isolated

    own = claude_environment(
        f"http://127.0.0.1:{port}", root / "tmp", permission_mode="default", root=os.geteuid() == 0
    )
    return isolated(os.environ, root, proxy=_DEAD_PROXY, extra=own)


def _checked(text: str, elapsed: float) -> float:
    if text != ANSWER:
        raise BenchError(f"Claude Code: expected {ANSWER!r}, got {text!r}")
    return elapsed


def _events() -> bytes:
    """A streamed answer of the Messages format."""
    usage = {"input_tokens": 10, "output_tokens": 9}
    message = {
        "id": "msg_0",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events = (
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    )
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
