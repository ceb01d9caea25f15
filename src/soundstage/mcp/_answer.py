"""The answer of a tool, and its form on the wire. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from soundstage.errors import ScriptError
from soundstage.match import preview

Json = dict[str, Any]
Mishap = Literal[
    "hang", "disconnect", "not json", "half", "other id", "no version", "both", "twice", "log line"
]


class RejectSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A JSON-RPC error in the place of a result.

    Args:
        message: what went wrong.
        code: the number of the error; -32603, an internal error, unless given.
        data: more about it.
    """

    message: str
    code: int = -32603
    data: Any = None


class ToolAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The answer to a call of a tool.

    Args:
        text: the text of the result.
        json: a structured result; its JSON is the text too, unless there is another one.
        content: content blocks of the protocol, as they are: `{"type": "image", "data": .., "mimeType": ..}`.
        error: the text of a result that says that the tool failed (`isError`).
        reject: a JSON-RPC error instead of a result.
        delay: seconds until it answers.
        fault: what goes wrong on the way back: `hang` never answers, `disconnect` cuts the connection in the
            middle of the answer, the others spoil it.
    """

    text: str | None = None
    json: Any = msgspec.UNSET
    content: tuple[Json, ...] = ()
    error: str | None = None
    reject: RejectSpec | None = None
    delay: Annotated[float, msgspec.Meta(ge=0, le=10**9)] = 0.0
    fault: Mishap | None = None

    def __post_init__(self) -> None:
        kinds = [name for name in ("error", "reject") if getattr(self, name) is not None]
        said = self.text is not None or self.json is not msgspec.UNSET or bool(self.content)
        if len(kinds) + said > 1:
            raise ValueError(f"a call ends in a result, an `error` or a `reject`, got {_given(self)}")

    def result(self) -> Json:
        """The result of the call as the protocol has it."""
        if self.error is not None:
            return {"content": [text_block(self.error)], "isError": True}
        structured = None if self.json is msgspec.UNSET else self.json
        text = self.text
        if text is None and self.json is not msgspec.UNSET:
            text = msgspec.json.encode(self.json).decode()
        blocks = ([text_block(text)] if text is not None else []) + list(self.content)
        found: Json = {"content": blocks, "isError": False}
        return {**found, "structuredContent": structured} if isinstance(structured, dict) else found


Given = ToolAnswer | Callable[[Json], Any]
"""An answer, or the function of the arguments that makes it."""
DEFAULT: Final = ToolAnswer(text="nothing scripted for that")


def _given(answer: ToolAnswer) -> str:
    names = [name for name in ("text", "json", "content", "error", "reject") if _is_given(answer, name)]
    return " and ".join(names)


def _is_given(answer: ToolAnswer, name: str) -> bool:
    return getattr(answer, name) not in (None, msgspec.UNSET, ())


def text_block(text: str) -> Json:
    """A content block of text."""
    return {"type": "text", "text": text}


def as_answer(value: Any = msgspec.UNSET, /, **fields: Any) -> ToolAnswer:
    """An answer from what a person wrote: text, an answer, or any JSON.

    Raises:
        ScriptError: for fields that do not exist or do not go together, and for what is no JSON.

    Example:
        >>> as_answer({"hits": 0}).json
        {'hits': 0}
    """
    try:
        if isinstance(value, ToolAnswer):
            return msgspec.structs.replace(value, **fields) if fields else value
        given: Json = dict(fields)
        if isinstance(value, str):
            given["text"] = value
        elif value is not msgspec.UNSET:
            given["json"] = value
        if "json" in given:
            msgspec.json.encode(given["json"])
        return msgspec.convert(given, ToolAnswer)
    except (TypeError, ValueError, msgspec.ValidationError) as error:
        raise ScriptError(
            f"this is no answer of a tool: {error}",
            expected="text, JSON, or the fields " + ", ".join(ToolAnswer.__struct_fields__),
            seen=preview({**({} if value is msgspec.UNSET else {"answer": value}), **fields}),
        ) from None


def text_of(result: Mapping[str, Any]) -> str:
    """The text of a result: its blocks of text, and the types of the others."""
    blocks = result.get("content")
    parts = [part for part in blocks if isinstance(part, Mapping)] if isinstance(blocks, list) else []
    return "\n".join(
        str(part.get("text", "")) if part.get("type") == "text" else f"[{part.get('type')}]" for part in parts
    )
