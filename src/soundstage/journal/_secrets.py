"""Signs of secrets: names of variables and headers, shapes of keys, and encodings. Pure."""

from __future__ import annotations

import base64
import functools
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from soundstage import messages
from soundstage.journal._events import Record, event_types
from soundstage.journal._reading import plain

REDACTED: Final = "[redacted]"
MIN_LENGTH: Final = 8  # shorter values are words, and blanking them would ruin every text
SHORTEST_READING: Final = 6  # bytes of a reading that are looked for
_BEFORE: Final = (b"", b"\\", b"%")
MIN_COOKIE: Final = 16  # a shorter cookie is a setting, not a session

SECRET_NAME: Final = re.compile(
    r"(API_?KEY|_KEY$|^KEY$|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PWD$|_PASS$|CREDENTIAL|_DSN$|_PAT$|_AUTH$"
    r"|COOKIE|WEBHOOK)",
    re.IGNORECASE,
)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names do not say that they are secret."""
    return {name: value for name, value in environment.items() if not SECRET_NAME.search(name)}


# header -> where in its value the secret is; all others whose name says so are secret as they are
_PARTS: Final[dict[str, Literal["after scheme", "cookies", "cookie"]]] = {
    "authorization": "after scheme",
    "proxy-authorization": "after scheme",
    "cookie": "cookies",
    "set-cookie": "cookie",
}
_SECRET_HEADER: Final = re.compile(
    r"(?:token|secret|passw(?:or)?d|passphrase|credentials?|assertion|api-?key|x-auth"
    r"|(?<!idempotency)(?<!websocket)-key)$|^key$"
)
# An address with a login: `user:password@`, or a name alone, as in the address of an error tracker.
_LOGIN: Final = re.compile(r"^[a-z][a-z0-9+.\-]*://([^/\s?#]*)@", re.IGNORECASE)
_ADDRESS_NAME: Final = re.compile(
    r"(DATABASE|DB|REDIS|MONGO\w*|AMQP|BROKER|POSTGRES\w*)_?UR[LI]$|CONN(ECTION)?_?STR", re.IGNORECASE
)

# A key begins where no letter or digit precedes it, or right after an escape: JSON's \n, URL's %3D.
_BEGIN: Final = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
# Inside a private key: base64, line ends (as they are, or escaped once or more), and its header lines.
_PEM_BODY: Final = rb"(?:[A-Za-z0-9+/=:,.\s]+|-(?!----)|\\+[nrt])*+"


class KeyShape(NamedTuple):
    """How a kind of key looks. `marker` is a text that all of them hold."""

    marker: bytes
    pattern: bytes


SHAPES: Final = tuple(
    KeyShape(marker, pattern)
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
    if len(text) < MIN_LENGTH or text in REDACTED or not _can_be_found(plain(_raw(text))):
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


def header_secrets(name: str, value: str) -> list[str] | None:
    """The secrets in a header; `None` if it is not a header for secrets. `name` is in lower case."""
    kind = _PARTS.get(name)
    if kind is None:
        return [value] if _says_secret(name) else None
    if kind == "after scheme":
        scheme, space, rest = value.strip().partition(" ")
        return [rest if space else scheme]
    cookies = value.split(";")[: 1 if kind == "cookie" else None]
    values = [cookie.partition("=")[2].strip() for cookie in cookies]
    return [found for found in values if len(found) >= MIN_COOKIE]


@functools.lru_cache(maxsize=1024)
def _says_secret(name: str) -> bool:
    return _SECRET_HEADER.search(name) is not None


def variable_secrets(name: str, value: str) -> list[str]:
    """The secrets in a variable of an environment: its value, if its name says so, and logins in an address."""
    named = SECRET_NAME.search(name) is not None
    login = _LOGIN.match(value)
    if login is None:
        return [value] if named or ("://" not in value and _ADDRESS_NAME.search(name)) else []
    user, colon, password = login[1].partition(":")
    if colon:
        return [password, f"{user}:{password}@"]
    return [user] if named else []


def readings(secret: str) -> frozenset[bytes]:
    """The texts that a reading (see `_reading`) holds where data holds the secret: as it is, in base64, in hex."""
    raw = _raw(secret)
    # An escape that ends right before the secret may take its first letters: the `n` of `\\n`.
    texts = {before + text for before in _BEFORE for text in (raw, secret.encode("utf-8", "replace"))}
    texts |= {raw.replace(b" ", b"+"), *_base64_forms(raw), raw.hex().encode(), raw.hex().upper().encode()}
    for encoding in ("utf-16-le", "utf-16-be"):
        texts.update(_base64_forms(secret.encode(encoding, "surrogatepass")))
    return frozenset(read for text in texts if _can_be_found(read := plain(text)))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _can_be_found(reading: bytes) -> bool:
    if len(reading) < SHORTEST_READING:
        return False
    return not reading.replace(b"/", b"").isalpha() or not any(reading in word for word in _own_readings())


@functools.cache
def _own_readings() -> frozenset[bytes]:
    return frozenset(plain(word.encode()) for word in _own_words())


def _base64_forms(raw: bytes) -> Iterator[bytes]:
    """As base64 of any text that contains it.

    Three bytes become four characters, so a text in front of the secret shifts it to one of three
    alignments. The characters at both ends that also depend on the neighbours are left out.
    """
    for shift, mixed in ((0, 0), (1, 2), (2, 3)):
        encoded = base64.b64encode(bytes(shift) + raw).rstrip(b"=")
        yield encoded[mixed : None if (shift + len(raw)) % 3 == 0 else -1]
