"""Content by its hash: equal content lies in a store once, however many runs have it.

Content is first staged in a folder of its owner, without a lock, where it is cleaned of secrets and hashed as it
comes by. Then, with the lock, it is moved to its place, in one step. So what lies at its place is always whole. What
is no file is hashed first, and only written if the store has it not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from soundstage.errors import EnvironmentProblem
from soundstage.journal import Blob, Redactor
from soundstage.runs._disk import Disk
from soundstage.runs._files import PIECE

FOLDER: Final = "objects"
OVERLAP: Final = 8192  # bytes; keys are shorter
Content = bytes | str | Path


class StagedContent(NamedTuple):
    """Content on its way.

    Args:
        blob: its reference.
        place: where it is, unless the store had it.
        data: what it is, unless it comes from a file.
    """

    blob: Blob
    place: Path
    data: bytes | None = None


class Objects:
    """The content of a store.

    Args:
        root: the store.
        disk: what does the steps.
    """

    def __init__(self, root: Path, disk: Disk) -> None:
        self.root = root / FOLDER
        self._disk = disk

    def place(self, sha256: str) -> Path:
        """Where content of a hash is, or would be."""
        return self.root / sha256[:2] / sha256[2:]

    def __repr__(self) -> str:
        return f"<Objects {self.root}>"

    def open(self, sha256: str) -> BinaryIO:
        """Content by its hash.

        Raises:
            FileNotFoundError: if it is not there.
        """
        return self.place(sha256).open("rb")

    def stage(self, content: Content, place: Path, redactor: Redactor) -> StagedContent:
        """Write content into a new file, without secrets.

        Raises:
            EnvironmentProblem: if it is a path that cannot be read.
        """
        if not isinstance(content, Path):
            data = b"".join(_clean(_pieces(content), redactor))
            blob = Blob(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
            if self.find(blob.sha256) != blob:
                self._disk.write(place, [data])
            return StagedContent(blob, place, data)
        found, size = hashlib.sha256(), 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for piece in _clean(_pieces(content), redactor):
                found.update(piece)
                size += len(piece)
                yield piece

        self._disk.write(place, counted())
        return StagedContent(Blob(sha256=found.hexdigest(), size=size), place)

    def take(self, staged: Iterable[StagedContent]) -> None:
        """Move what is new to its place; for who has the lock."""
        folders = set()
        for blob, place, data in staged:
            if self.find(blob.sha256) == blob:
                continue  # from this run or another
            there = self.place(blob.sha256)
            if data is not None and not place.exists():  # a cleanup has removed what was there
                self._disk.write(place, [data])
            self._disk.make_folder(there.parent)
            self._disk.move(place, there)
            folders.add(there.parent)
        for folder in folders:
            self._disk.settle(folder)
        if folders:
            self._disk.settle(self.root)

    def find(self, sha256: str) -> Blob | None:
        """A reference to content; `None` if it is not here."""
        try:
            return Blob(sha256=sha256, size=self.place(sha256).stat().st_size)
        except OSError:
            return None

    def stored(self) -> Iterator[tuple[str, Path]]:
        """Hash and place of all content."""
        for place in sorted(self.root.glob("??/*")):
            yield place.parent.name + place.name, place


def _pieces(content: Content) -> Iterator[bytes]:
    if isinstance(content, Path):
        try:
            with content.open("rb") as file:
                while piece := file.read(PIECE):
                    yield piece
        except OSError as error:
            raise EnvironmentProblem(
                f"the file {content} cannot be kept", seen=error.strerror or str(error)
            ) from None
    else:
        yield content.encode("utf-8", "replace") if isinstance(content, str) else content


def _clean(pieces: Iterable[bytes], redactor: Redactor) -> Iterator[bytes]:
    """Without secrets, those that a border between pieces cuts included: of each piece the end waits for the next."""
    rest = b""
    for piece in pieces:
        data = rest + piece
        border = max(len(data) - OVERLAP, 0)
        border = min((start for start, end in redactor.spans(data) if start < border < end), default=border)
        yield redactor.bytes(data[:border])
        rest = data[border:]
    if rest:
        yield redactor.bytes(rest)


class StoredContents:
    """The content that the journal of a kept run refers to.

    Args:
        objects: of the store.
        blobs: by the sha256 that the journal names; another one where a secret was taken out when the run was kept.
    """

    def __init__(self, objects: Objects, blobs: Mapping[str, Blob]) -> None:
        self._objects = objects
        self._blobs = blobs

    def __repr__(self) -> str:
        return repr(self._objects)

    def find(self, sha256: str) -> Blob | None:
        """The reference to content that the journal names; `None` if it was not kept."""
        return self._blobs.get(sha256)

    def open(self, sha256: str) -> BinaryIO:
        """Content by its reference. Raises as `Objects.open`."""
        return self._objects.open(sha256)
