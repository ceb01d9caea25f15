"""Files of a kept run, read when somebody looks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO, Final, Protocol

from soundstage.journal import Blob
from soundstage.runs._errors import ContentNotFoundError, DamagedContentError, StreamConsumedError

PIECE: Final = 1 << 20  # bytes that are read at once


class ContentSource(Protocol):
    """Where content is: `journal.contents`, or a store's."""

    def find(self, sha256: str) -> Blob | None:
        """The reference under which the content that an event names can be opened; `None` if it is not there."""

    def open(self, sha256: str) -> BinaryIO:
        """Content by its reference.

        Raises:
            FileNotFoundError: if it is not there.
        """


class LazyFile:
    """A file of a run. Its content is read, and compared with its hash, when it is first asked for.

    Args:
        path: below the run.
        blob: the reference.
        source: has the content.

    Example:
        ::

            run.files["report.txt"].text()
            for piece in run.files["video.webm"].stream():
                ...
    """

    def __init__(self, path: str, blob: Blob, source: ContentSource) -> None:
        self.path = path
        self.blob = blob
        self._source = source
        self._content: bytes | None = None
        self._streamed = False

    def __eq__(self, other: object) -> bool:
        """Whether path and content are the same."""
        return isinstance(other, LazyFile) and (self.path, self.blob) == (other.path, other.blob)

    def __hash__(self) -> int:
        return hash((self.path, self.blob))

    def __repr__(self) -> str:
        return f"<LazyFile {self.path}, {self.blob.size} bytes>"

    @property
    def size(self) -> int:
        """Bytes of its content."""
        return self.blob.size

    def content(self) -> bytes:
        """The whole content; read once, then remembered.

        Raises:
            ContentNotFoundError: if the store has it no more.
            DamagedContentError: if it is not what was saved.
        """
        if self._content is None:
            self._content = b"".join(self._pieces())
        return self._content

    def text(self) -> str:
        """The content as UTF-8; what is none is replaced by U+FFFD. Raises as `content()`."""
        return self.content().decode(errors="replace")

    def stream(self) -> Iterator[bytes]:
        """The content in pieces of at most 1 MiB, once; the last step compares all of it with the hash.

        Raises:
            StreamConsumedError: at the second call.
            ContentNotFoundError: if the store has it no more.
            DamagedContentError: behind the last piece, if it is not what was saved.
        """
        if self._streamed:
            raise StreamConsumedError(
                f"the content of {self.path} has been streamed",
                expected="one stream for each file",
                hint="open the run again, or use content(), which remembers",
            )
        self._streamed = True
        return self._pieces()

    def _pieces(self) -> Iterator[bytes]:
        found = hashlib.sha256()
        try:
            with self._source.open(self.blob.sha256) as file:
                while piece := file.read(PIECE):
                    found.update(piece)
                    yield piece
        except FileNotFoundError as error:
            raise ContentNotFoundError(
                f"the content of {self.path} is not in the store",
                expected=str(error.filename or error),
                hint="restore the folder `objects` from a backup; the journal of the run is there without it",
            ) from None
        if found.hexdigest() != self.blob.sha256:
            raise DamagedContentError(
                f"the content of {self.path} is not what was saved",
                expected=f"sha256 {self.blob.sha256}",
                seen=f"sha256 {found.hexdigest()} in {self._source}",
                hint="restore that file from a backup",
            )
