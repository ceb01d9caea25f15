"""A change of a file as an event: the patch leads from one content to the other, and both are kept without secrets."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import FileError
from soundstage.journal import Contents, Journal, Redactor, file_changed, patch
from support.cases import cases

WORDS = st.lists(st.sampled_from(["a", "b", "c\r", "d\x0b", "e\u2028"]), max_size=12)
FILES = st.tuples(WORDS, st.booleans()).map(lambda drawn: "\n".join(drawn[0]) + ("\n" if drawn[1] else ""))


def applied(folder: Path, diff: str, before: bytes) -> bytes:
    """The content that `git apply` makes."""
    (folder / "f").write_bytes(before)
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
        input=diff.encode(),
        cwd=folder,
        check=True,
    )
    return (folder / "f").read_bytes()


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patch")
@cases(15)
@given(before=FILES, after=FILES)
def test_git_applies_the_patch_to_the_content_before_and_gets_the_content_after(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    found = patch("f", before.encode(), after.encode())
    if before == after:
        assert found == ""
    else:
        assert applied(tmp_path_factory.mktemp("patched"), found, before.encode()) == after.encode()


def test_files_that_differ_in_thousands_of_lines_are_told_as_one_replacement_at_once() -> None:
    old, new = (
        "".join(f"{word} {number}\n{number}\n" for number in range(1500)).encode() for word in ("old", "new")
    )
    lines = patch("f", old, new).splitlines()
    assert lines[2] == "@@ -1,3000 +1,3000 @@"
    assert len(lines) == 3 + 6000  # though every other line is the same


def test_a_small_change_in_a_large_file_is_a_small_patch() -> None:
    lines = [f"line {number}\n" for number in range(20_000)]
    old, new = "".join(lines), "".join([*lines[:10_000], "more\n", *lines[10_000:]])
    assert len(patch("f", old.encode(), new.encode()).splitlines()) == 3 + 7


def test_no_change_is_no_event() -> None:
    assert file_changed(Contents(), "a", b"x", b"x") is None


def test_a_secret_in_a_file_reaches_neither_what_is_kept_nor_the_patch(tmp_path: Path) -> None:
    secret = "sk-live-0123456789abcdef"
    journal = Journal(tmp_path / "run.jsonl", redactor=Redactor(secrets=[secret]))
    event = file_changed(journal.contents, "env", None, f"KEY={secret}\n".encode())
    assert event is not None
    journal.append(event)
    journal.close()
    kept = [path.read_bytes() for path in (tmp_path / "run.objects").rglob("*") if path.is_file()]
    assert len(kept) == 1
    assert secret.encode() not in kept[0]
    assert secret not in event.patch
    assert "+KEY=" in event.patch
    assert event.after is not None
    assert Contents.beside(tmp_path / "run.jsonl").read(event.after) == kept[0]


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "run.objects").write_text("in the way")
    with pytest.raises(FileError, match=r"run\.objects"):
        Contents.beside(tmp_path / "run.jsonl").keep(b"x")
