"""Signatures of thinking: what a provider seals is sent back to it as it was, and refused when it is not.

Ours are made with a fixed key, so that they are the same each time, and are known again by any server: they are no
secret. Each one is over the thinking itself. A client that has thinking without its words (`display: omitted`) sends
the signature alone.

Others are accepted if this server has sent them, or if a rule of its script has them: a test may write one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from soundstage.errors import RequestRejected
from soundstage.messages import (
    ModelChunk,
    ModelRequest,
    Opaque,
    OpaqueChunk,
    Part,
    Thinking,
    ThinkingChunk,
    respond,
)
from soundstage.models import Model, Reply, Script
from soundstage.wire._codec import parse_value
from soundstage.wire._control import scripted_in

_KEY: Final = b"thinking of soundstage"
_MARK: Final = b"\x12\x10soundstage"
_LENGTH: Final = 32
REDACTED: Final = "redacted_thinking"


def sign(text: str) -> str:
    """The signature of this thinking.

    >>> sign("hm") == sign("hm"), sign("hm") == sign("ah")
    (True, False)
    """
    return _sealed(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())


def verifies(text: str, signature: str) -> bool:
    """Whether `signature` is one of ours, for this thinking; any of ours fits thinking without words.

    >>> verifies("hm", sign("hm")), verifies("", sign("hm")), verifies("ah", sign("hm")), verifies("", "made up")
    (True, True, False, False)
    """
    content = _opened(signature)
    return content is not None and (not text or hmac.compare_digest(sign(text), signature))


def _sealed(content: bytes) -> str:
    return base64.b64encode(_MARK + content + hmac.digest(_KEY, content, "sha256")).decode()


def _opened(seal: str) -> bytes | None:
    """The content under one of our seals; `None` if it is none."""
    try:
        found = base64.b64decode(seal, validate=True)
    except (binascii.Error, ValueError):
        return None
    content, mac = found[len(_MARK) : -_LENGTH], found[-_LENGTH:]
    right = found.startswith(_MARK) and hmac.compare_digest(hmac.digest(_KEY, content, "sha256"), mac)
    return content if right else None


class IssuedSignatures:
    """The signatures that a server has sent and did not make.

    Args:
        model: what answers. Where no script does, nobody is refused: a provider, or the tape, knows better.
        most: how many are kept, the newest; all unless given.
    """

    def __init__(self, model: Model, most: int | None = None) -> None:
        self._model = model
        self._most = most
        self._sent: dict[str, None] = {}

    def keep(self, chunks: Sequence[ModelChunk]) -> None:
        """Remember the signatures of an answer that are not ours."""
        if not any(isinstance(chunk, ThinkingChunk | OpaqueChunk) for chunk in chunks):
            return
        for text, seal in map(_seal, respond(chunks).parts):
            if seal and not verifies(text, seal):
                self._sent[seal] = None
        while self._most is not None and len(self._sent) > self._most:
            del self._sent[next(iter(self._sent))]

    def check(self, asked: ModelRequest, body: bytes) -> None:
        """Refuse thinking whose signature nobody has issued.

        Args:
            asked: the request, in Anthropic's format.
            body: the same as it came, for the place of what is wrong.

        Raises:
            RequestRejected: for the first, in the provider's words.
        """
        wrong = {
            (text, seal)
            for message in asked.messages
            for text, seal in map(_seal, message.parts)
            if seal is not None and not verifies(text, seal) and seal not in self._sent
        }
        scripted = scripted_in(self._model) if wrong else None
        if scripted is None or not scripted.script.check_signatures:
            return
        wrong = {pair for pair in wrong if pair[1] not in set(_written(scripted.script))}
        if wrong:
            where, kind = _place(body, wrong)
            field = "data" if kind == REDACTED else "signature"
            raise RequestRejected(
                f"{where}: Invalid `{field}` in `{kind}` block. Soundstage has not issued it: send back what the "
                "answer had, or write `check_signatures: false` in the script for a history that is written by hand."
            )


def _seal(part: Part) -> tuple[str, str | None]:
    """The words and the seal of a part; without a seal, it is no thinking."""
    if isinstance(part, Thinking):
        return part.text, part.signature
    if isinstance(part, Opaque) and part.type == REDACTED and isinstance(part.data, dict):
        return "", str(part.data.get("data", ""))
    return "", None


def _written(script: Script) -> Iterator[str]:
    """The signatures in the rules of a script."""
    for rule in script.rules:
        for block in rule.reply.ordered_blocks if isinstance(rule.reply, Reply) else ():
            if block.signature:
                yield block.signature
            elif block.redacted_thinking is not None:
                yield block.redacted
            elif block.opaque is not None and (data := block.opaque.get("data")):
                yield str(data)


def _place(body: bytes, wrong: Iterable[tuple[str, str | None]]) -> tuple[str, str]:
    """Where the first of these stands in a body, and the type of its block."""
    messages: list[Any] = parse_value(body, "")["messages"]
    for number, message in enumerate(messages):
        content = message["content"]
        for position, block in enumerate(content if isinstance(content, list) else ()):
            words = ("", block.get("data")) if block["type"] == REDACTED else _words(block)
            if words in wrong:
                return f"messages.{number}.content.{position}", block["type"]
    return "messages", "thinking"


def _words(block: dict[str, Any]) -> tuple[Any, Any]:
    return (block.get("thinking"), block.get("signature")) if block["type"] == "thinking" else (None, None)
