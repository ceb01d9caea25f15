"""The record of a run, and what its folder holds. Pure: values in, bytes out."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from soundstage.errors import HarnessError, WrongValueError
from soundstage.journal import Blob
from soundstage.runs._errors import SchemaError
from soundstage.trace import ToolUse

RunStatus = Literal["complete", "partial", "failed"]
RunOutcome = Literal["passed", "failed", "error", "aborted", "skipped", "xfailed", "xpassed", "unknown"]
STATUSES: Final = get_args(RunStatus)
OUTCOMES: Final = get_args(RunOutcome)
VERSION: Final = 1
RECORD, JOURNAL = "run.json", "journal.jsonl"  # files in the folder of a run
ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]{0,63}")
FOLDER: Final = re.compile(rf"\d{{8}}T\d{{9}}Z-(?P<id>{ID.pattern})")
Moment = Annotated[datetime, msgspec.Meta(tz=True)]


def new_run_id() -> str:
    """An id that no other run has: 16 hexadecimal digits, drawn by the system."""
    return secrets.token_hex(8)


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts about a run, besides its journal and files.

    Args:
        id: letters, digits, `_` and `.`, at most 64; see `new_run_id`.
        started: when it began, with a time zone.
        ended: when it was over.
        test: id of the test that it belongs to, as pytest writes it.
        name: in words.
        driver: who ran it, e.g. `pytest` or `claude_code`.
        status: `complete`; `partial`, if it was cut off and what there was is kept; `failed`, if it came to nothing.
        outcome: of its test: `passed`, `failed`, `error`, `aborted`, `skipped`, `xfailed`, `xpassed` or `unknown`.
        reason: of status and outcome, in a line.
        labels: whatever else it shall be found by.
        tokens: of all replies; `None` if nobody counted.
        cost: US dollars; `None` if it is not known.
        warnings: what is to be known of the record itself, e.g. what is missing in it.

    Raises:
        WrongValueError: for an id that cannot be part of a file's name, a time without a zone, an end before the start.

    Example:
        >>> moment = datetime(2026, 11, 23, 10, 30, tzinfo=UTC)
        >>> RunRecord(id="a1", started=moment, ended=moment, test="tests/test_x.py::test_a").folder
        '20261123T103000000Z-a1'
    """

    id: str
    started: Moment
    ended: Moment
    test: str = ""
    name: str = ""
    driver: str = ""
    status: RunStatus = "complete"
    outcome: RunOutcome = "unknown"
    reason: str = ""
    labels: dict[str, str] = {}
    tokens: int | None = None
    cost: float | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not ID.fullmatch(self.id):
            raise WrongValueError(
                "a run cannot have this id",
                expected="1 to 64 letters, digits, `_` and `.`, the first a letter or digit",
                seen=repr(self.id),
                hint="`new_run_id()` makes one",
            )
        if self.started.tzinfo is None or self.ended.tzinfo is None:
            raise WrongValueError("the times of a run have a time zone", hint="write: datetime.now(UTC)")
        if self.ended < self.started:
            raise WrongValueError(
                "a run ends after it has begun", expected=f"from {self.started} on", seen=str(self.ended)
            )
        for field, known in (("status", STATUSES), ("outcome", OUTCOMES)):
            require_known(field, getattr(self, field), known)

    @property
    def folder(self) -> str:
        """The name of its folder: when it began (UTC), and its id. Names sort as the runs began."""
        began = self.started.astimezone(UTC)
        return f"{began:%Y%m%dT%H%M%S}{began.microsecond // 1000:03d}Z-{self.id}"

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.ended - self.started).total_seconds()


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """The file `run.json`: the record, the lines of its journal, and a reference for each file.

    Args:
        version: of this format.
        run: the record.
        records: lines of `journal.jsonl`.
        transcripts: the tool calls, as JSON; `None` if the run has none.
        files: by path.
        contents: files before and after changes, by the sha256 that the journal names.
    """

    run: RunRecord
    version: int = VERSION
    records: int = 0
    transcripts: Blob | None = None
    files: dict[str, Blob] = {}
    contents: dict[str, Blob] = {}

    @property
    def blobs(self) -> tuple[Blob, ...]:
        """All that it refers to."""
        return (
            *self.files.values(),
            *self.contents.values(),
            *((self.transcripts,) if self.transcripts else ()),
        )


class _Head(msgspec.Struct):
    version: int


def encode_bundle(bundle: Bundle) -> bytes:
    """The content of `run.json`."""
    return msgspec.json.format(msgspec.json.encode(bundle)) + b"\n"


def decode_bundle(data: bytes, where: str) -> Bundle:
    """Read `run.json`.

    Raises:
        HarnessError: if it is cut off, or of a newer version.
    """
    try:
        version = msgspec.json.decode(data, type=_Head).version
        if version > VERSION:
            raise HarnessError(
                f"{where} is of version {version}",
                expected=f"version {VERSION} or below",
                hint="use the version of Soundstage that wrote it",
            )
        return msgspec.json.decode(data, type=Bundle)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise HarnessError(
            f"{where} is no record of a run", seen=str(error), hint="remove that folder"
        ) from None


def checked_transcripts(calls: object) -> bytes:
    """Tool calls as JSON, if each is as its schema says: the fields of a `trace.ToolUse`.

    Raises:
        SchemaError: for the first that is not; the message names its place and field.
    """
    if not isinstance(calls, list | tuple):
        raise SchemaError("transcripts are a list", seen=type(calls).__name__)
    found = [_transcript(call, number) for number, call in enumerate(calls)]
    return msgspec.json.encode(found)


def decode_transcripts(data: bytes) -> tuple[ToolUse, ...]:
    """The tool calls in a file of transcripts."""
    return msgspec.json.decode(data, type=tuple[ToolUse, ...])


def _transcript(call: Any, number: int) -> ToolUse:
    where = f"the transcript of tool call {number}"
    if isinstance(call, ToolUse):
        call = msgspec.structs.asdict(call)
    if not isinstance(call, Mapping):
        raise SchemaError(f"{where} is not an object", seen=type(call).__name__)
    unknown = sorted(set(call) - set(ToolUse.__struct_fields__), key=str)
    if unknown:
        raise SchemaError(
            f"{where} has an unknown field {unknown[0]!r}", expected=", ".join(ToolUse.__struct_fields__)
        )
    try:
        return msgspec.json.decode(msgspec.json.encode(call), type=ToolUse)
    except (msgspec.ValidationError, TypeError, UnicodeEncodeError) as error:
        raise SchemaError(f"{where} is not as its schema says", seen=str(error)) from None


def require_known(field: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse a word that no run can have.

    Raises:
        WrongValueError: for such a word.
    """
    if value not in known:
        raise WrongValueError(f"no run has the {field} {value!r}", expected=" or ".join(known))


def require_path(path: str) -> str:
    """The path of a file of a run, if it stays inside.

    Raises:
        WrongValueError: for one that is absolute, empty, or has `..` in it.
    """
    parts = PurePosixPath(path).parts
    plain = parts and not path.startswith("/") and ".." not in parts and "\0" not in path and path != "."
    if not plain or "\\" in path or str(PurePosixPath(path)) != path:
        raise WrongValueError(
            "a file of a run has a path below the run",
            expected="names with / between them, without .. and without / at its begin",
            seen=repr(path),
        )
    return path
