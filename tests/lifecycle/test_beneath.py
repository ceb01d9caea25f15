"""Files below a folder in which somebody else writes: no link leads us out, no pipe stops us."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest

from soundstage.lifecycle import files_beneath, read_beneath, write_beneath


@pytest.fixture
def places(tmp_path):
    """A folder of ours, and one of the user's with a file."""
    ours, outside = tmp_path / "ours", tmp_path / "outside"
    (ours / "a/b").mkdir(parents=True)
    outside.mkdir()
    (outside / "key").write_text("secret")
    return ours, outside


def test_a_file_is_written_with_its_folders_and_read(places):
    ours, _ = places
    write_beneath(ours, "new/deep/file.txt", b"first and long")
    write_beneath(ours, PurePath("new/deep/file.txt"), b"second")
    assert read_beneath(ours, "new/deep/file.txt") == b"second"
    assert files_beneath(ours, "new") == [PurePath("new/deep/file.txt")]


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("key", "outside/key", "key"),
        ("a/out", "outside", "a/out/key"),
        ("a/up", "..", "a/up/outside/key"),
        ("loop", "ours/loop", "loop"),
        ("dangling", "outside/new", "dangling"),
        ("inside", "ours/a", "inside/key"),
    ],
)
def test_no_link_is_followed_wherever_it_leads(places, link, target, path):
    ours, outside = places
    (ours / link).symlink_to(ours.parent / target)
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        read_beneath(ours, path)
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        write_beneath(ours, path, b"overwritten")
    assert {file.name: file.read_text() for file in outside.iterdir()} == {"key": "secret"}
    assert files_beneath(ours, ".") == []


@pytest.mark.parametrize("path", ["../outside/key", "a/../../outside/key", "/etc/passwd", "", "."])
def test_a_path_that_is_not_below_is_refused(places, path):
    ours, outside = places
    for act in (lambda: read_beneath(ours, path), lambda: write_beneath(ours, path, b"x")):
        with pytest.raises(OSError, match="not below"):
            act()
    assert (outside / "key").read_text() == "secret"


def test_a_pipe_or_a_folder_is_no_file_and_nobody_waits_for_it(places):
    ours, _ = places
    os.mkfifo(ours / "pipe")
    for name in ("pipe", "a"):
        with pytest.raises(OSError):  # noqa: PT011  (which one is the system's choice)
            read_beneath(ours, name)
        with pytest.raises(OSError):  # noqa: PT011
            write_beneath(ours, name, b"x")
    assert files_beneath(ours, ".") == []


def test_a_folder_that_is_not_there_or_is_a_link_has_no_files(places):
    ours, outside = places
    (ours / "link").symlink_to(outside)
    assert files_beneath(ours, "gone") == files_beneath(ours, "link") == []


def test_nothing_is_left_open(places):
    ours, outside = places
    (ours / "link").symlink_to(outside)
    before = sorted(Path("/proc/self/fd").iterdir())
    for path in ("link/key", "a/gone", "a", "link"):
        with pytest.raises(OSError):  # noqa: PT011
            read_beneath(ours, path)
    assert sorted(Path("/proc/self/fd").iterdir()) == before
