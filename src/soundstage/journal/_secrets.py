"""What a secret looks like: names of variables and headers, shapes of keys, and encodings. Pure."""

from __future__ import annotations

import base64
import functools
import json
import re
import typing
import urllib.parse
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import msgspec

from soundstage import messages
from soundstage.journal._events import Record, event_types

REDACTED: Final = "[redacted]"
MIN_LENGTH: Final = 8  # shorter values are words, and blanking them would ruin every text
_JSON_LEVELS: Final = 4  # the arguments of a tool call, in a request, in an event; and one to spare
MIN_COOKIE: Final = 16  # a shorter cookie is a setting, not a session

SECRET_NAME: Final = re.compile(
    r"(API_?KEY|_KEY$|^KEY$|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)", re.IGNORECASE
)

# header -> where in its value the secret is
SECRET_HEADERS: Final[dict[str, Literal["value", "after scheme", "cookies", "cookie"]]] = {
    "authorization": "after scheme",
    "proxy-authorization": "after scheme",
    "x-api-key": "value",
    "api-key": "value",
    "x-goog-api-key": "value",
    "x-soundstage-token": "value",
    "cookie": "cookies",
    "set-cookie": "cookie",
}

# A key begins where no letter or digit precedes it, or right after an escape: JSON's \n, URL's %3D.
_BEGIN: Final = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
# Inside a private key: base64, line ends (as they are, or escaped once or more), and its header lines.
_PEM_BODY: Final = rb"(?:[A-Za-z0-9+/=:,.\s]+|-(?!----)|\\+[nrt])*+"


class Shape(NamedTuple):
    """How a kind of key looks. `marker` is a text that all of them hold."""

    marker: bytes
    pattern: bytes


SHAPES: Final = tuple(
    Shape(marker, pattern)
    for marker, pattern in (
        (b"sk-", _BEGIN + rb"sk-[A-Za-z0-9_\-]{16,}"),
        (b"AIza", _BEGIN + rb"AIza[0-9A-Za-z_\-]{30,}"),
        (b"gsk_", _BEGIN + rb"gsk_[A-Za-z0-9]{20,}"),
        (b"xai-", _BEGIN + rb"xai-[A-Za-z0-9]{20,}"),
        (b"hf_", _BEGIN + rb"hf_[A-Za-z0-9]{20,}"),
        (b"ghp_", _BEGIN + rb"ghp_[A-Za-z0-9]{20,}"),
        (b"gho_", _BEGIN + rb"gho_[A-Za-z0-9]{20,}"),
        (b"ghu_", _BEGIN + rb"ghu_[A-Za-z0-9]{20,}"),
        (b"ghs_", _BEGIN + rb"ghs_[A-Za-z0-9]{20,}"),
        (b"ghr_", _BEGIN + rb"ghr_[A-Za-z0-9]{20,}"),
        (b"github_pat_", _BEGIN + rb"github_pat_[A-Za-z0-9_]{20,}"),
        (b"xox", _BEGIN + rb"xox[abprs]-[A-Za-z0-9\-]{10,}"),
        (b"AKIA", _BEGIN + rb"AKIA[0-9A-Z]{16}\b"),
        (b"nsec1", _BEGIN + rb"nsec1[a-z0-9]{50,}"),
        (b"eyJ", rb"(?<![A-Za-z0-9_\-])eyJ[\w\-]{10,}\.eyJ[\w\-]{10,}\.[\w\-]{10,}"),
        (b"eyJ", rb"(?:(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))eyJ[\w\-]{10,}\.eyJ[\w\-]{10,}\.[\w\-]{10,}"),
        (b"earer ", rb"(?<=earer )(?:(?=[A-Za-z._~+/\-]*[0-9])[\w.~+/\-]{8,}|[\w.~+/\-]{20,})=*"),
        (
            b"PRIVATE KEY-----",
            rb"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----" + _PEM_BODY + rb"(?:-----END [A-Z ]{0,30}-----)?",
        ),
    )
)


def is_secret(text: str) -> bool:
    """Whether a value that is said to be secret can be one: long enough, and no word of the journal's own.

    `PASSWORD=assistant` must not make a journal unreadable in which every reply has the role "assistant".
    """
    if len(text) < MIN_LENGTH or text in REDACTED:
        return False
    return not text.replace("_", "").isalpha() or not any(text in word for word in _own_words())


@functools.cache
def _own_words() -> frozenset[str]:
    """The words that our lines are made of: names of fields and types, and values out of a fixed list."""
    structs: list[Any] = [
        value for value in vars(messages).values() if isinstance(value, type(msgspec.Struct))
    ]
    words: set[str] = set()
    for struct in (Record, *event_types().values(), *structs):
        words.update(struct.__struct_fields__, {str(struct.__struct_config__.tag)})
        words.update(*(_literals(hint) for hint in typing.get_type_hints(struct).values()))
    return frozenset(words)


def _literals(hint: Any) -> set[str]:
    if isinstance(hint, str):
        return {hint}
    return set().union(*(_literals(part) for part in typing.get_args(hint)))


def header_secrets(name: str, value: str) -> list[str]:
    """The secrets in a header; none if it is not a header for secrets. `name` is in lower case."""
    kind = SECRET_HEADERS.get(name)
    if kind is None:
        return []
    if kind == "after scheme":
        scheme, space, rest = value.strip().partition(" ")
        return [rest if space else scheme]
    if kind == "value":
        return [value]
    cookies = value.split(";")[: 1 if kind == "cookie" else None]
    values = [cookie.partition("=")[2].strip() for cookie in cookies]
    return [found for found in values if len(found) >= MIN_COOKIE]


def forms(secret: str) -> set[bytes]:
    """A secret as it is, and as JSON (also inside other JSON), pages, URLs and base64 carry it."""
    raw = secret.encode("utf-8", "surrogatepass")
    texts = _in_json({secret}, levels=_JSON_LEVELS) | _in_json(set(_in_pages(secret)), levels=1)
    found = {text.encode("utf-8", "surrogatepass") for text in texts}
    found |= {raw, secret.encode("utf-8", "replace"), *_base64_forms(raw)}
    for safe in ("", "/", "!'()*"):
        found.add(urllib.parse.quote_from_bytes(raw, safe).encode())
    found.add(urllib.parse.quote_from_bytes(raw, " ").replace(" ", "+").encode())
    return found


def _in_json(texts: set[str], *, levels: int) -> set[str]:
    """Texts, and what JSON strings make of them; several levels deep, for JSON inside JSON."""
    for _ in range(levels):
        texts = texts | {
            json.dumps(text, ensure_ascii=ascii_only)[1:-1] for text in texts for ascii_only in (True, False)
        }
    return texts


def _in_pages(secret: str) -> Iterator[str]:
    """As the text of an HTML page, and as JSON inside one."""
    text = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield text
    yield text.replace('"', "&#34;").replace("'", "&#39;")
    yield text.replace('"', "&quot;").replace("'", "&#x27;")
    for data in _in_json({secret}, levels=1):
        safe = data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        yield safe
        yield safe.replace("'", "\\u0027")


def _base64_forms(raw: bytes) -> Iterator[bytes]:
    """As base64 of any text that contains it.

    Three bytes become four characters, so a text in front of the secret shifts it to one of three
    alignments. The characters at both ends that also depend on the neighbours are left out.
    """
    for shift, mixed in ((0, 0), (1, 2), (2, 3)):
        encoded = base64.b64encode(bytes(shift) + raw).rstrip(b"=")
        whole = encoded[mixed : None if (shift + len(raw)) % 3 == 0 else -1]
        yield whole
        yield whole.replace(b"+", b"-").replace(b"/", b"_")
