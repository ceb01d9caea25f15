"""Threads of Anthropic: conversations that the server holds, so that a request sends its new messages alone.

A request with `thread: {"type": "create"}` is kept with its answer under the id of that answer; one with `"continue"`
names the id. What the client has left out is put in front of what it sends, so everything behind this sees whole
conversations. Source: the types of the official SDK, its errors and its `lib/threads`.

An answer can be continued once, and by one request at a time. One that fails, or breaks off, continues nothing.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import msgspec

from soundstage.errors import RequestRejected

FIELD: Final = b'"thread"'
FIXED: Final = ("system", "tools")  # those of the request that created the thread
UNSUPPORTED: Final = ("cache_control", "context_management", "fallbacks")  # by the names of the SDK's error
_REPLAY: Final = 'Replay the full conversation with `thread: {"type": "create"}` to start a new Thread.'

Body = dict[str, Any]


class _Turn(msgspec.Struct, frozen=True):
    """A request of a thread that is being answered: its whole body, and the answer that it continues."""

    body: Body
    previous: str = ""


class Threads:
    """The threads of a server.

    Args:
        most: how many answers may be continued; the newest are kept. All, unless given.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._kept: dict[
            str, Body | None
        ] = {}  # id of an answer -> its conversation; `None` once it is continued
        self._turns: dict[str, _Turn] = {}  # id of an answer in the making -> its request
        self._let_go = 0

    def begin(self, id: str, body: bytes) -> bytes:  # noqa: A002
        """Take a request that may be of a thread.

        Args:
            id: of its answer.
            body: as posted.

        Returns:
            The body with the whole conversation, and without `thread`.

        Raises:
            RequestRejected: as the provider does.
        """
        try:
            given = msgspec.json.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return body  # its decoder says what is wrong
        thread = given.pop("thread", None) if isinstance(given, dict) else None
        if thread is None:
            return body
        previous = _previous(thread)
        _check_supported(given)
        whole = self._continued(previous, given) if previous else given
        self._turns[id] = _Turn(whole, previous)
        return msgspec.json.encode(whole)

    def holds(self, id: str) -> bool:  # noqa: A002
        """Whether the answer with this id, which is in the making, is one of a thread."""
        return id in self._turns

    def keep(self, id: str, content: list[Any]) -> None:  # noqa: A002
        """Keep the conversation up to the answer `id`, which has this content."""
        turn = self._turns[id]
        said = [{"role": "assistant", "content": content}] if content else []
        self._kept[id] = {**turn.body, "messages": [*turn.body["messages"], *said]}
        if turn.previous in self._kept:
            self._kept[turn.previous] = None
        if self._most is not None and len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
            self._let_go += 1

    def end(self, id: str) -> None:  # noqa: A002
        """The request of this answer has ended, however it did."""
        self._turns.pop(id, None)

    def _continued(self, previous: str, given: Body) -> Body:
        """The body with the history of its thread in front."""
        if previous not in self._kept:
            kept = f" Soundstage keeps the newest {self._most}; {self._let_go} older ones have been let go."
            _refuse(
                f"No usable Thread state was found for `previous_message_id` '{previous}'."
                + (kept if self._let_go else "")
                + f" {_REPLAY}",
                "thread_not_found",
                status=404,
            )
        history = self._kept[previous]
        if history is None:
            _refuse(
                f"The response '{previous}' has already been continued, and each response can be continued only once. "
                "Continue from the Thread's most recent response `id`.",
                "thread_already_continued",
            )
        if any(turn.previous == previous for turn in self._turns.values()):
            _refuse(
                f"Another request is still continuing from '{previous}'. Wait for it to complete and continue from its "
                f"response `id`. {_REPLAY}",
                "thread_continue_in_flight",
            )
        changed = [name for name in FIXED if name in given and given[name] != history.get(name)]
        if changed:
            names = " and ".join(f"`{name}`" for name in changed)
            _refuse(
                f"{names} must stay the same across a Thread's turns: send the stored value, or nothing. {_REPLAY}",
                "thread_fingerprint_mismatch",
            )
        fixed: Body = {name: history[name] for name in FIXED if name in history}
        new = given.get("messages")
        if not isinstance(new, list):
            _refuse("messages: Input should be a valid list", "")
        return {**given, **fixed, "messages": [*history["messages"], *new]}


def _previous(thread: Any) -> str:
    """The answer that a `thread` continues; empty for a new one."""
    kind = thread.get("type") if isinstance(thread, dict) else None
    if kind not in ("create", "continue"):
        _refuse("thread.type: Input should be 'create' or 'continue'", "")
    known = {"type"} if kind == "create" else {"type", "previous_message_id"}
    for name in thread:
        if name not in known:
            _refuse(f"thread.{kind}.{name}: Extra inputs are not permitted", "")
    if kind == "create":
        return ""
    previous = thread.get("previous_message_id")
    if not isinstance(previous, str) or not previous:
        _refuse("thread.continue.previous_message_id: Field required", "")
    return previous


def _check_supported(given: Body) -> None:
    for name in UNSUPPORTED:
        if given.get(name):
            raise RequestRejected(
                f"thread: Threads do not support `{name}`. Send the full conversation without `thread`, or leave "
                f"`{name}` out.",
                param=name,
                code="thread_unsupported_request",
            )


def _refuse(message: str, code: str, *, status: int = 400) -> NoReturn:
    raise RequestRejected(message, status=status, code=code)
