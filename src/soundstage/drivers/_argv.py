"""The command of a program, checked before it starts: a list of words, and a script that will be found. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from soundstage.errors import ScriptError

_INTERPRETER: Final = re.compile(r"(python[\d.]*|node|bun|ruby|perl|bash|sh)(\.exe)?$")


def checked_argv(argv: Sequence[str | Path], cwd: Path | None, *, here: Path) -> tuple[str, ...]:
    """The words of a program, if it can be meant so.

    Args:
        argv: what the test gives.
        cwd: the folder that it gives; without one, the program starts in its throw-away home.
        here: the folder in which the tests run.

    Raises:
        ScriptError: for a text in the place of a list, and for a script that lies here and not in the program's home.
        ValueError: if there are none.
    """
    if not argv:
        raise ValueError("a command needs at least the program: argv is empty")
    if isinstance(argv, str | bytes | Path):
        raise ScriptError(
            "a program is given as a list of words", seen=repr(argv), hint="write [sys.executable, 'bot.py']"
        )
    if cwd is None and len(argv) > 1 and _INTERPRETER.match(Path(argv[0]).name):
        script = Path(argv[1])
        if not script.is_absolute() and (here / script).is_file():
            raise ScriptError(
                f"{script} is in the folder of the tests, and the program starts in a throw-away home",
                seen=f"{here / script}",
                hint="give its folder, cwd=Path(__file__).parent, or the whole path of the script",
            )
    return tuple(map(str, argv))
