"""Things that have one place are done nowhere else: processes, names like a misspelt one, JSON cut out of text."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import soundstage

SOURCE = Path(soundstage.__file__).parent
ONE_PLACE = {
    "get_close_matches": "errors.py",
    "raw_decode": "match/_json.py",
}

STARTERS = frozenset(
    (
        *(
            "Popen",
            "create_subprocess_exec",
            "create_subprocess_shell",
            "subprocess_exec",
            "subprocess_shell",
        ),
        *("fork", "forkpty", "posix_spawn", "posix_spawnp", "getoutput", "check_output"),
        *("execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe", "open_process"),
        *("run_process", "check_call", "spawnv", "spawnve", "spawnl", "spawnle", "ProcessPoolExecutor"),
    )
)
MODULES = ("subprocess.", "multiprocessing.", "os.system", "os.popen", "pty.spawn")
START = {
    "lifecycle/_process.py": "the one starter",
    "lifecycle/_launcher.py": "its side of the start",
    "lifecycle/_git_call.py": "git alone, without hooks; a launcher for each call would cost more than the calls",
    "isolation/_service.py": "the launcher again, in a service that runs already",
    "isolation/_netns.py": "the program of ours that makes what a process is started in",
    "isolation/_netns_setup.py": "that program",
}


def names_of(tree: ast.AST) -> Iterator[str]:
    """Every name that a module reads, imports, or takes from something with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name


@functools.cache
def texts() -> dict[str, str]:
    return {path.relative_to(SOURCE).as_posix(): path.read_text() for path in SOURCE.rglob("*.py")}


def modules(says: Callable[[ast.AST], bool], *words: str) -> set[str]:
    """The modules of which `says` is true; those without any of the words are not parsed."""
    found = ((path, text) for path, text in texts().items() if any(word in text for word in words))
    return {path for path, text in found if says(ast.parse(text))}


def starts_programs(tree: ast.AST) -> bool:
    """Whether a module calls something that starts a program."""
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.ImportFrom) and f"{node.module}." in MODULES for node in nodes):
        return True
    for function in (node.func for node in nodes if isinstance(node, ast.Call)):
        if isinstance(function, ast.Attribute):
            whole = ast.unparse(function)
            if function.attr in STARTERS or whole.startswith(MODULES):
                return True
        if isinstance(function, ast.Name) and function.id in STARTERS:
            return True
    return False


def test_programs_are_started_in_one_place_but_for_the_listed_exceptions():
    assert modules(starts_programs, *STARTERS, *MODULES, "from subprocess", "from multiprocessing") == set(
        START
    )


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run(['x'])",
        "await asyncio.create_subprocess_exec('x')",
        "Popen(['x'])",
        "os.system('x')",
        "from subprocess import run",
    ],
)
def test_each_way_to_start_a_program_is_seen(code):
    assert starts_programs(ast.parse(code))


@pytest.mark.parametrize("name", ONE_PLACE)
def test_one_module_alone_uses(name):
    assert modules(lambda tree: name in names_of(tree), name) == {ONE_PLACE[name]}
