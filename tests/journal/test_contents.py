"""Contents of files: kept once by their hash, in memory or in a folder, and found again."""

from __future__ import annotations

import hashlib

import pytest

from soundstage.journal import Blob
from soundstage.journal._contents import Contents

TEXT = b"a cup of tea"
HASH = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture(params=["memory", "folder"])
def contents(request, tmp_path):
    return Contents(tmp_path / "contents" if request.param == "folder" else None)


def test_what_is_kept_is_found_by_its_hash_with_its_size(contents):
    assert contents.keep(TEXT) == HASH
    assert contents.keep(TEXT) == HASH
    assert contents.find(HASH) == Blob(sha256=HASH, size=len(TEXT))
    assert contents.read(HASH) == TEXT
    with contents.open(HASH) as file:
        assert file.read(5) == TEXT[:5]


def test_what_is_not_kept_is_not_found(contents):
    contents.keep(TEXT)
    other = "0" * 64
    assert contents.find(other) is None
    with pytest.raises(FileNotFoundError):
        contents.read(other)
