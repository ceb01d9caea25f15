"""A command in a container that runs. Blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from soundstage.containers._bridge import open_stream, pieces
from soundstage.containers._engine import Engine
from soundstage.errors import EnvironmentProblem
from soundstage.lifecycle import Finished

_TIMES: Final = 1000  # that the engine is asked for the exit code of a command whose output has ended


def run_in(engine: Engine, container: str, argv: Sequence[str], environment: Mapping[str, str]) -> Finished:
    """Run a command in a container to its end.

    Raises:
        EnvironmentProblem: if the engine does not start it.
    """
    api = engine.client.api
    made = api.exec_create(container, list(argv), environment=dict(environment))["Id"]
    body = json.dumps({"Detach": False, "Tty": False}).encode()
    said = {1: bytearray(), 2: bytearray()}
    try:
        stream, first = open_stream(engine.socket, f"/exec/{made}/start", body)
    except OSError as error:
        raise EnvironmentProblem(f"{argv[0]} cannot be run in the container", seen=str(error)) from None
    with stream:
        for channel, data in pieces(stream, first):
            said[channel] += data
    output, errors = (said[channel].decode("utf-8", "replace") for channel in (1, 2))
    return Finished(_exit_code(api, made), output, errors)


def _exit_code(api: Any, made: str) -> int:
    """The API has nothing that waits for it; what is over is known to the engine some milliseconds later."""
    for _ in range(_TIMES):
        found = api.exec_inspect(made)
        if not found["Running"]:
            break
    return int(found["ExitCode"] or 0)
