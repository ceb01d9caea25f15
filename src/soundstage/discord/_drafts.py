"""Check the body of a message that a bot posts, as Discord checks it. Pure.

Source: https://discord.com/developers/docs/resources/message#create-message-jsonform-params
"""

from __future__ import annotations

import mimetypes
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from soundstage.discord._problems import EMPTY, RestRefused, invalid
from soundstage.discord._records import MessageFlag

LONGEST: Final = 2000  # characters
MOST_EMBEDS: Final = 10
MOST_IN_EMBEDS: Final = 6000  # characters of all embeds of a message
MOST_FILES: Final = 10
DIGITS: Final = 20  # of an id
SHOWN: Final = 100  # characters of a wrong value in an answer
# part of an embed -> the most characters in it
_EMBED_LIMITS: Final = {"title": 256, "description": 4096}
_FLAGS: Final = (
    MessageFlag.SUPPRESS_EMBEDS | MessageFlag.EPHEMERAL | MessageFlag.SILENT | MessageFlag.COMPONENTS_V2
)


class Upload(NamedTuple):
    """A file on its way."""

    filename: str
    content: bytes
    content_type: str = ""
    description: str | None = None

    @property
    def type(self) -> str:
        """Its media type: from its name, else as the sender says."""
        return mimetypes.guess_type(self.filename)[0] or self.content_type or "application/octet-stream"


class Reference(msgspec.Struct):
    """The message that another one answers."""

    message_id: str | int
    fail_if_not_exists: bool = True
    type: int = 0


class _File(msgspec.Struct):
    id: str | int
    filename: str | None = None
    description: str | None = None


class _Mentions(msgspec.Struct):
    replied_user: bool = True


class Draft(msgspec.Struct):
    """A message to be posted, or what is to be changed of one. What was not said is `UNSET`."""

    content: str | UnsetType | None = UNSET
    embeds: list[dict[str, Any]] | UnsetType | None = UNSET
    components: list[dict[str, Any]] | UnsetType | None = UNSET
    attachments: list[_File] | UnsetType | None = UNSET
    flags: int | UnsetType | None = UNSET
    message_reference: Reference | None = None
    allowed_mentions: _Mentions | None = None
    nonce: str | int | None = None
    tts: bool = False

    @property
    def text(self) -> str:
        """The content; empty if there is none."""
        return self.content or "" if self.content is not UNSET else ""

    @property
    def shown_flags(self) -> int:
        """The flags that a sender may set."""
        return (self.flags or 0) & _FLAGS if self.flags is not UNSET else 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to see but perhaps files."""
        return not (self.text.strip() or listed(self.embeds) or listed(self.components))


def snowflake_in(value: Any) -> int | None:
    """The id that a value is: a number of 64 bits, or its digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= DIGITS:
        value = int(value)
    return value if type(value) is int and 0 <= value < 2**64 else None


def number(field: str, value: Any) -> int:
    """An id in a request, or Discord's 400."""
    found = snowflake_in(value)
    if found is None:
        raise invalid(field, "NUMBER_TYPE_COERCE", f'Value "{str(value)[:SHOWN]}" is not snowflake.')
    return found


def listed(value: list[Any] | UnsetType | None) -> list[Any]:
    """A list that may be missing."""
    return value if isinstance(value, list) else []


def parse_draft(body: Any) -> Draft:
    """The draft in a request's JSON, or Discord's 400."""
    try:
        draft = msgspec.convert(body, Draft)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$.")
        raise invalid(path.rstrip("`") or "body", "BASE_TYPE_CHOICES", text) from None
    if len(draft.text) > LONGEST:
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", f"Must be {LONGEST} or fewer in length.")
    _check_embeds(listed(draft.embeds))
    return draft


def _check_embeds(embeds: list[dict[str, Any]]) -> None:
    if len(embeds) > MOST_EMBEDS:
        raise invalid("embeds", "BASE_TYPE_MAX_LENGTH", f"Must be {MOST_EMBEDS} or fewer in length.")
    total = 0
    for place, embed in enumerate(embeds):
        for key, limit in _EMBED_LIMITS.items():
            length = len(str(embed.get(key) or ""))
            total += length
            if length > limit:
                field = f"embeds.{place}.{key}"
                raise invalid(field, "BASE_TYPE_MAX_LENGTH", f"Must be {limit} or fewer in length.")
        total += sum(
            len(str(field.get("name", ""))) + len(str(field.get("value", "")))
            for field in _fields_of(embed, place)
        )
    if total > MOST_IN_EMBEDS:
        message = f"Embed size exceeds maximum size of {MOST_IN_EMBEDS}"
        raise invalid("embeds", "MAX_EMBED_SIZE_EXCEEDED", message)


def _fields_of(embed: dict[str, Any], place: int) -> list[dict[str, Any]]:
    fields = embed.get("fields") or []
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        raise invalid(
            f"embeds.{place}.fields", "BASE_TYPE_BAD_TYPE", "Only lists of objects may be used here"
        )
    return fields


def described(draft: Draft, files: dict[str, Upload]) -> tuple[Upload, ...]:
    """The files of a request with the names and descriptions that its JSON gives them."""
    said = {str(file.id): file for file in listed(draft.attachments)}
    found: list[Upload] = []
    for key, upload in files.items():
        number = key.removeprefix("files[").removesuffix("]")
        more = said.get(number)
        name = more.filename if more and more.filename else upload.filename
        found.append(upload._replace(filename=name, description=more.description if more else None))
    if len(found) > MOST_FILES:
        raise invalid("attachments", "BASE_TYPE_MAX_LENGTH", f"Must be {MOST_FILES} or fewer in length.")
    return tuple(found)


def need_something(draft: Draft, files: tuple[Upload, ...]) -> None:
    """Discord's 400 for a message without anything in it."""
    if draft.is_empty and not files:
        raise RestRefused(EMPTY)
