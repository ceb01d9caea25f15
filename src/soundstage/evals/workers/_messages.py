"""Messages between the engine and its workers: one line of JSON each, with bytes in it as base64.

A suite goes to a worker whole, by cloudpickle: functions of modules by their names, all others (lambdas, functions in
functions, those of a script that was started) with their code. A run comes back as the lines of its journal and the
content that they name, both without secrets: what knows the secrets of a run stays where it was made.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

import msgspec

from soundstage.errors import EnvironmentProblem, ScriptError, SoundstageError, WrongValueError
from soundstage.evals._making import MadeRun
from soundstage.evals._suite import Suite
from soundstage.journal import Blob, Redactor, clean_records, decode_records, encode_records
from soundstage.live import ProviderLimits
from soundstage.runs import RunRecord, named_contents

_PICKLED: Final = (
    "functions at the top of a module, or lambdas and functions that hold nothing but plain values"
)


class WorkerLostError(EnvironmentProblem):
    """Raised when a worker is gone, whatever ended it; what it was doing is not done."""


class WorkerJob(msgspec.Struct, frozen=True, kw_only=True):
    """The work of a worker, told once.

    Args:
        suite: packed.
        paths: `sys.path` of the engine.
        workers: among which the limits of providers are divided.
        address: of that cluster; empty for one that is started for the eval.
    """

    suite: bytes
    paths: list[str]
    workers: int
    address: str = ""


class WorkerReady(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a job; `problem` is a packed error, if it cannot be done."""

    problem: bytes = b""


class RunWanted(msgspec.Struct, frozen=True):
    """A run that a worker is to make."""

    case: str
    number: int


class RunSent(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a worker has made; as `MadeRun`, in bytes."""

    case: str
    number: int
    problem: str = ""
    tokens: int = 0
    cost: float | None = 0.0
    record: RunRecord | None = None
    journal: bytes = b""
    contents: dict[str, bytes] = {}


def as_line(message: msgspec.Struct) -> bytes:
    """A message as a line."""
    return msgspec.json.encode(message) + b"\n"


def job_of(suite: Suite, *, workers: int, address: str = "") -> WorkerJob:
    """The job of making runs of a suite.

    Raises:
        ScriptError: for a suite that cannot leave this process; the message says why.
        WrongValueError: for more workers than requests that may go at a time.
    """
    import pickle

    import cloudpickle

    _require_shares(suite, workers)
    try:
        packed = cloudpickle.dumps(suite)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ScriptError(
            f"the suite {suite.name} cannot be sent to a worker",
            expected=_PICKLED,
            seen=f"{type(error).__name__}: {error}",
            hint="let its functions make what they need (connections, locks) when they are called",
        ) from error
    return WorkerJob(suite=packed, paths=list(sys.path), workers=workers, address=address)


def _require_shares(suite: Suite, workers: int) -> None:
    """Refuse workers of which not each can have a part of the requests that go at a time."""
    given = suite.limits
    for limits in [given] if isinstance(given, ProviderLimits) else given.values():
        if limits.concurrency is not None and limits.concurrency < workers:
            raise WrongValueError(
                "the limits of a provider are divided among the workers",
                expected=f"at most {limits.concurrency} workers, for concurrency: {limits.concurrency}",
                seen=f"{workers} workers",
            )


def suite_of_job(job: WorkerJob) -> Suite:
    """The suite of a job, in the worker.

    Raises:
        ScriptError: if it cannot be loaded here; the message says why.
    """
    import pickle

    sys.path[:] = [*job.paths, *(path for path in sys.path if path not in job.paths)]
    try:
        suite: Suite = pickle.loads(job.suite)  # noqa: S301  (the engine's own)
    except Exception as error:
        raise ScriptError(
            "the suite cannot be loaded in a worker",
            expected="modules of the suite that can be imported by their names",
            seen=f"{type(error).__name__}: {error}",
            hint="put them beside the suite, into a package that is installed, or on PYTHONPATH",
        ) from error
    return suite


def packed_error(error: Exception) -> bytes:
    """An error for the engine."""
    import pickle

    known = isinstance(error, SoundstageError)
    return pickle.dumps(
        error
        if known
        else EnvironmentProblem("a worker cannot work", seen=f"{type(error).__name__}: {error}")
    )


def unpacked_error(data: bytes) -> SoundstageError:
    """The error of a worker."""
    import pickle

    error: SoundstageError = pickle.loads(data)  # noqa: S301  (our own worker's)
    return error


def sent_of(made: MadeRun) -> RunSent:
    """A run, to be sent."""
    if made.record is None:
        return RunSent(
            case=made.case, number=made.number, problem=made.problem, tokens=made.tokens, cost=made.cost
        )
    redactor = made.redactor or Redactor()
    records = list(clean_records(made.journal, redactor))
    record = redactor.json(msgspec.json.encode(made.record))
    return RunSent(
        case=made.case,
        number=made.number,
        record=msgspec.json.decode(record, type=RunRecord),
        journal=b"".join(encode_records(records)),
        contents={
            sha256: redactor.bytes(data) for sha256, data in named_contents(made.journal, made.contents)
        },
    )


def made_of(sent: RunSent) -> MadeRun:
    """A run that was sent."""
    return MadeRun(
        case=sent.case,
        number=sent.number,
        problem=sent.problem,
        tokens=sent.tokens,
        cost=sent.cost,
        record=sent.record,
        journal=decode_records(sent.journal, f"the journal of {sent.case}, run {sent.number}"),
        contents=GatheredContents(sent.contents),
    )


class GatheredContents:
    """Content that a worker has sent, by the hash that the journal names."""

    def __init__(self, data: Mapping[str, bytes]) -> None:
        self._data = data

    def find(self, sha256: str) -> Blob | None:
        """The reference to content; `None` if it was not sent."""
        return Blob(sha256=sha256, size=len(self._data[sha256])) if sha256 in self._data else None

    def open(self, sha256: str) -> BinaryIO:
        """Content by its reference.

        Raises:
            FileNotFoundError: if it was not sent.
        """
        if sha256 not in self._data:
            raise FileNotFoundError(f"no content has the sha256 {sha256}")
        return io.BytesIO(self._data[sha256])


def message_of(line: bytes | str, kind: Any) -> Any:
    """A line as a message."""
    return msgspec.json.decode(line, type=kind)
