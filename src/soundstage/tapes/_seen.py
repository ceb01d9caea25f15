"""Where a replay was not the recorded run: kept beside the tape, so that it can be accepted.

Kept are requests that the tape does not have, and the numbers of recorded exchanges that were not asked for.

The file is `.soundstage/seen/<tape>.json` in the folder of the tape. Each replay replaces it; one without a divergence
removes it. Secrets are taken out like those of a tape.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from soundstage.errors import TapeError
from soundstage.messages import ModelRequest
from soundstage.tapes._playback import Playback
from soundstage.tapes._surroundings import Surroundings
from soundstage.tapes._verdict import Verdict

_FOLDER: Final = Path(".soundstage", "seen")


class SeenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was not recorded.

    Args:
        request: as it was asked.
        verdict: why it is not the recorded one.
    """

    request: ModelRequest
    verdict: Verdict


class SeenFile(msgspec.Struct, frozen=True, kw_only=True):
    """One replay that was not the recorded run.

    Args:
        here: folders and the day of that replay.
        requests: those that were not recorded, in order.
        servers: the verdicts on calls of MCP servers, which cannot be accepted.
        left: numbers of recorded exchanges that it was not asked for.
    """

    here: Surroundings
    requests: tuple[SeenRequest, ...]
    servers: tuple[Verdict, ...] = ()
    left: tuple[int, ...] = ()


def seen_path(tape: Path) -> Path:
    """The file for a tape."""
    return tape.parent / _FOLDER / f"{tape.name}.json"


def keep_seen(playback: Playback) -> None:
    """Write what a replay was asked instead, or remove the file if there is nothing. It never ends a run."""
    tape = playback.tape
    if tape.path is None:
        return
    path = seen_path(tape.path)
    with contextlib.suppress(OSError):
        servers = tuple(verdict for verdict in playback.verdicts if verdict.server)
        if not (playback.missed or playback.left or servers):
            path.unlink(missing_ok=True)
            return
        requests = tuple(
            SeenRequest(request=request, verdict=verdict) for verdict, request in playback.missed
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent.parent / ".gitignore").write_text("*\n")
        seen = SeenFile(here=playback.here, requests=requests, servers=servers, left=playback.left)
        path.write_bytes(tape.redactor.json(msgspec.json.encode(seen)))


def read_seen(tape: Path) -> SeenFile:
    """The requests that the last replay of a tape was asked instead.

    Raises:
        TapeError: if there are none, or the file cannot be read.
    """
    path = seen_path(tape)
    try:
        return msgspec.json.decode(path.read_bytes(), type=SeenFile)
    except OSError:
        seen = "no replay of it has diverged, or the last one went well"
    except msgspec.DecodeError as error:
        seen = f"{path}: {error}"
    raise TapeError(
        f"there is nothing to accept for {tape}",
        expected="a replay that was asked something else than what is on the tape",
        seen=seen,
        hint="replay it first: soundstage replay --tape FILE -- COMMAND, or run its test",
    )
