"""Which files of a project are code, and which are tests. Pure, but for the walk over the project."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath

CODE = frozenset(
    f".{suffix}"
    for line in ("c cc cpp cs go h java js jsx kt mjs php", "py rb rs scala swift ts tsx")
    for suffix in line.split()
)
FOLDERS = frozenset(["test", "tests", "__tests__", "spec", "specs"])
SKIPPED = frozenset(["node_modules", "venv", "__pycache__", "dist", "build", "vendor", "target"])
_NAME = re.compile(r"test_.+|.+_test|.+[.-](?:test|spec)|.+Tests?")


def is_code(path: PurePath) -> bool:
    """Whether a file holds code, of tests or of the program."""
    return path.suffix in CODE


def belongs_to_tests(path: PurePath) -> bool:
    """Whether a file, relative to the project, is a test or something that tests use."""
    return bool(FOLDERS.intersection(path.parts[:-1])) or is_test(path) or path.name == "conftest.py"


def is_test(path: PurePath) -> bool:
    """Whether a file is a test by its name.

    >>> [is_test(PurePath(name)) for name in ("test_a.py", "a_test.go", "a.test.js", "ATest.java", "testing.py")]
    [True, True, True, True, False]
    """
    return is_code(path) and _NAME.fullmatch(path.stem) is not None


def has_tests(project: Path) -> bool:
    """Whether a project has a test with something in it."""
    for folder, folders, files in os.walk(project):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith(".")]
        below = Path(folder).relative_to(project)
        for name in files:
            if is_test(below / name) and (Path(folder) / name).stat().st_size:
                return True
    return False
