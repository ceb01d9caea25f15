"""Redaction: secrets never reach a file.

Three sources say what a secret is: environment variables whose name says so, values of authorization
headers (learnt as they come by), and shapes that providers give their keys. Known values are also found in
the encodings in which they travel: JSON-escaped, URL-encoded, base64.

Speed matters, because every line of a journal passes here: plain substring tests come first (on the bytes
read as Latin-1, where they are fastest), and the regular expressions run only over lines that hold a marker.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Final

REDACTED: Final = "[redacted]"
MIN_LENGTH: Final = 8  # shorter values are words, and blanking them would ruin every text

SECRET_NAME = re.compile(r"(API_?KEY|_KEY$|^KEY$|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)", re.IGNORECASE)
SECRET_HEADERS: Final = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "x-soundstage-token",
        "cookie",
        "set-cookie",
    }
)

# (marker that must be present, shape of the key)
_SHAPES: Final = tuple(
    (marker, re.compile(shape))
    for marker, shape in (
        (b"sk-", rb"\bsk-[A-Za-z0-9_\-]{16,}"),
        (b"AIza", rb"\bAIza[0-9A-Za-z_\-]{30,}"),
        (b"gh", rb"\bgh[pousr]_[A-Za-z0-9]{20,}"),
        (b"github_pat_", rb"\bgithub_pat_[A-Za-z0-9_]{20,}"),
        (b"xox", rb"\bxox[abprs]-[A-Za-z0-9\-]{10,}"),
        (b"AKIA", rb"\bAKIA[0-9A-Z]{16}\b"),
        (b"hf_", rb"\bhf_[A-Za-z0-9]{20,}"),
        (b"eyJ", rb"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}"),
        (b"earer ", rb"(?<=earer )[A-Za-z0-9._~+/\-]{8,}=*"),
        (b"PRIVATE KEY-----", rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----"),
    )
)


class Redactor:
    """Finds secrets in what is about to be written and replaces them by `[redacted]`.

    >>> Redactor(["hunter2-hunter2"]).text("the key is hunter2-hunter2.")
    'the key is [redacted].'
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._needles: tuple[bytes, ...] = ()
        for secret in secrets:
            self.add(secret)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Redactor:
        """A redactor that knows the values of variables named like keys, tokens, passwords."""
        return cls(value for name, value in environment.items() if SECRET_NAME.search(name))

    def add(self, secret: str) -> None:
        """Learn a secret: a key, or a canary that a test has planted. Shorter than 8 characters: ignored."""
        secret = secret.strip()
        if len(secret) < MIN_LENGTH or secret in self._known or secret == REDACTED:
            return
        self._known.add(secret)
        forms = {form for known in self._known for form in _forms(known)}
        self._needles = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """`headers` with lower-case names and without secret values, which are learnt."""
        clean: dict[str, str] = {}
        for name, value in headers.items():
            lower = name.lower()
            if lower in SECRET_HEADERS:
                self.add(value.partition(" ")[2] if " " in value else value)
                value = REDACTED
            clean[lower] = value
        return clean

    def bytes(self, data: bytes) -> bytes:
        """`data` without secrets."""
        for needle in self._needles:
            if needle in data:
                data = data.replace(needle, b"[redacted]")
        if _suspicious(data.decode("latin-1")):
            for marker, shape in _SHAPES:
                if marker in data:
                    data = shape.sub(b"[redacted]", data)
        return data

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self.bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _suspicious(text: str) -> bool:
    """Whether any marker of `_SHAPES` is in `text`; written out, because a loop takes four times as long."""
    return (
        "sk-" in text
        or "gh" in text
        or "xox" in text
        or "hf_" in text
        or "eyJ" in text
        or "AIza" in text
        or "AKIA" in text
        or "github_pat_" in text
        or "earer " in text
        or "PRIVATE KEY-----" in text
    )


def _forms(secret: str) -> set[bytes]:
    """The secret as it is, and as JSON strings, URLs and base64 carry it."""
    raw = secret.encode("utf-8", "surrogatepass")
    encoded = base64.b64encode(raw).rstrip(b"=")
    return {
        raw,
        json.dumps(secret)[1:-1].encode(),
        json.dumps(secret, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass"),
        urllib.parse.quote(secret, safe="").encode() if secret.isprintable() else raw,
        encoded,
        encoded.replace(b"+", b"-").replace(b"/", b"_"),
    }
