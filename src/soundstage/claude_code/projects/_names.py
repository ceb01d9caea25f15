"""The names of a project in its files: in prose, in paths, in imports. Pure."""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.errors import ScriptError

LONGEST: Final = 60
_NAME: Final = re.compile(r"[^\W_](?:[\w .-]*\w)?")
# Names that mean something else to a language or to its test tool; a project of that name would hide it.
_WORDS: Final = (
    "pytest pluggy iniconfig packaging test tests src",  # Python: what pytest imports, folders of the project
    "buffer child_process cluster crypto dns events fs http https net os path process stream tls url util zlib",
    "chan const default defer fallthrough func go interface map package range select struct switch type var",
    "main internal vendor errors fmt strings testing",  # Go too: its packages, names that it treats in its own way
)
_TAKEN: Final = frozenset(sys.stdlib_module_names).union(keyword.kwlist, *(words.split() for words in _WORDS))


class Names(NamedTuple):
    """A project's names: `Calculator App`, `calculator-app`, `calculator_app`, `calculatorapp`."""

    display: str
    slug: str
    package: str
    module: str


def names_of(name: str | None, folder: Path) -> Names:
    """The names of a project.

    Args:
        name: as people write it; made of the folder's name unless given.
        folder: where the project will be.

    Raises:
        ScriptError: if the name has other signs than letters, digits, spaces and `._-`, or no letter of the Latin
            alphabet to make a package of.

    Example:
        >>> names_of(None, Path("calculator-app")).display
        'Calculator App'
        >>> names_of("2 Été", Path("x")).package
        'app_2_ete'
    """
    display = (
        " ".join(name.split()) if name is not None else re.sub(r"[\W_]+", " ", folder.name).strip().title()
    )
    if not _NAME.fullmatch(display) or len(display) > LONGEST:
        raise ScriptError(
            "that is no name for a project",
            expected=f"letters, digits, spaces, dots, dashes; at most {LONGEST}, a letter or a digit first",
            seen=repr(display),
            hint="give another name=",
        )
    plain = unicodedata.normalize("NFKD", display).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    if not re.search("[a-z]", plain):
        raise ScriptError(
            "no package can be named after this project",
            expected="at least one letter from a to z",
            seen=repr(display),
            hint="give another name=",
        )
    if words[0][0].isdigit():
        words.insert(0, "app")
    if _TAKEN & {"_".join(words), "".join(words)}:
        words.append("project")
    return Names(display, "-".join(words), "_".join(words), "".join(words))
