"""Answers of providers, the way in: what the decoders of all formats share. Pure.

A decoder takes the JSON objects of a streamed answer one by one, or the one object of a whole answer, and gives chunks.
Blocks are numbered in the order in which they appear, whatever numbers the provider gives them, and the chunks of a
block come in a row: an encoder of the wire can stream them again.

What has no chunk of its own is never dropped. A part of a type that we do not interpret is one opaque chunk, and its
data is the part. A field beside a part or beside the whole answer (citations, a refusal, log probabilities) is an
opaque chunk too: its type is the field's name, its data an object with that field alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from soundstage.errors import ConnectionCut, ProviderError
from soundstage.messages import FinishChunk, ModelChunk, OpaqueChunk

STATUSES: Final = {  # what the status would be, by the code or the type of an error that comes within an answer
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "invalid_prompt": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
REPLACED: Final = frozenset(
    {"id", "index", "name", "object", "role", "type"}
)  # repeated in pieces, never continued
EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


class AnswerDecoder(ABC):
    """One answer.

    Attributes:
        model: the name that the provider says has answered.
        done: whether the last object of a stream has come.
    """

    def __init__(self) -> None:
        self.model = ""
        self.done = False
        self._blocks = 0
        self._beside: list[tuple[str, Any]] = []

    @abstractmethod
    def event(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """The chunks in one object of a stream.

        Raises:
            ProviderError: if the provider reports one.
        """

    @abstractmethod
    def whole(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """The chunks of an answer that is not streamed."""

    @abstractmethod
    def finish(self) -> FinishChunk | None:
        """The finish, or nothing if the answer has ended before it."""

    def rest(self) -> Iterator[ModelChunk]:
        """The fields beside the parts of the answer; complete at its end only."""
        for name, value in self._beside:
            yield OpaqueChunk(index=self._new(), type=name, data={name: value})

    def _new(self) -> int:
        """The number of a block that begins."""
        self._blocks += 1
        return self._blocks - 1

    def _keep(self, fields: Mapping[str, Any], known: Collection[str]) -> None:
        """Keep the fields beside the answer until `rest`: between its pieces they would cut a block in two."""
        for name, value in fields.items():
            if name not in known and value not in EMPTY and (name, value) not in self._beside:
                self._beside.append((name, value))

    def _fields(self, given: Mapping[str, Any], known: Collection[str]) -> Iterator[ModelChunk]:
        """The fields beside one part that is complete."""
        for name, value in given.items():
            if name not in known and value not in EMPTY:
                yield OpaqueChunk(index=self._new(), type=name, data={name: value})

    def _part(self, given: Any, kind: str = "", index: int | None = None) -> OpaqueChunk:
        """A part that we do not interpret; a new block, unless its number is given."""
        kind = kind or (str(given.get("type") or "") if isinstance(given, dict) else "")
        number = self._new() if index is None else index
        return OpaqueChunk(index=number, type=kind or "unknown", data=given)


def merged(old: Any, new: Any) -> Any:
    """Two pieces of one streamed value: texts are joined, entries of lists with the same `index` are one.

    >>> merged({"role": "assistant", "content": "Hel"}, {"role": "assistant", "content": "lo"})
    {'role': 'assistant', 'content': 'Hello'}
    """
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    if isinstance(old, list) and isinstance(new, list):
        return _joined(old, new)
    if isinstance(old, dict) and isinstance(new, dict):
        found = {name: _replaced(name, old.get(name), value) for name, value in new.items()}
        return {**old, **found}
    return old if new is None else new


def _replaced(name: str, old: Any, new: Any) -> Any:
    return (new or old) if name in REPLACED else merged(old, new)


def _joined(old: list[Any], new: list[Any]) -> list[Any]:
    places = {entry["index"]: place for place, entry in enumerate(old) if _is_numbered(entry)}
    found = list(old)
    for entry in new:
        if _is_numbered(entry) and entry["index"] in places:
            place = places[entry["index"]]
            found[place] = merged(found[place], entry)
        else:
            found.append(entry)
    return found


def _is_numbered(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("index"), int)


def garbled(seen: str) -> ConnectionCut:
    """The error for what cannot be read."""
    return ConnectionCut(
        "the answer of the provider is garbled", expected="an answer of its format", seen=seen[:120]
    )


def read_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in a text.

    Raises:
        ConnectionCut: if there is none.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise garbled(text if isinstance(text, str) else text.decode("utf-8", "replace"))
    return value


def provider_error(given: Any, *, status: int = 0, headers: Mapping[str, str] | None = None) -> ProviderError:
    """An error of a provider.

    Args:
        given: what stands under `error`: an object, or words.
        status: of the answer; without one the error's code or type tells what it would be.
        headers: of the answer, those that apps act on.
    """
    error = given if isinstance(given, dict) else {"message": str(given or "")}
    details = error.get("details")
    code = error.get("code") or (details.get("error_code") if isinstance(details, dict) else "") or ""
    kind = str(error.get("type") or error.get("status") or "")
    said = code if isinstance(code, int) and 400 <= code <= 599 else 0
    status = status or said or STATUSES.get(str(code)) or STATUSES.get(kind) or 500
    return ProviderError(
        str(error.get("message") or f"status {status}"),
        status=status,
        kind=kind,
        code="" if code == status else str(code),
        headers=headers,
    )


def error_in(body: bytes, status: int, headers: Mapping[str, str]) -> ProviderError:
    """The error in an answer with an error status: all formats have one `error` object in the body."""
    try:
        given = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        given = None
    if isinstance(given, list) and given:  # a stream that is a JSON array
        given = given[0]
    error = given.get("error") if isinstance(given, dict) else None
    if not isinstance(error, dict | str) or not error:
        error = body.decode("utf-8", "replace")[:500]
    return provider_error(error, status=status, headers=headers)
