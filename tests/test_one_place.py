"""What is done in one place is done nowhere else: processes, names like a misspelt one, JSON cut out of text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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
    "drivers/_service.py": "the launcher again, in a service that runs already",
    "drivers/_netns.py": "the program of ours that makes what a process is started in",
    "drivers/_netns_setup.py": "that program",
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


TREES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
USED = {path: set(names_of(tree)) for path, tree in TREES.items()}


def starts_programs(tree: ast.AST) -> bool:
    """Whether a module calls something that starts a program."""
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    for function in called:
        if isinstance(function, ast.Attribute):
            whole = ast.unparse(function)
            if function.attr in STARTERS or whole.startswith(MODULES):
                return True
        if isinstance(function, ast.Name) and function.id in STARTERS:
            return True
    return False


def test_programs_are_started_in_one_place_but_for_the_listed_exceptions():
    assert {path for path, tree in TREES.items() if starts_programs(tree)} == set(START)


@pytest.mark.parametrize(
    "code",
    ["subprocess.run(['x'])", "await asyncio.create_subprocess_exec('x')", "Popen(['x'])", "os.system('x')"],
)
def test_each_way_to_start_a_program_is_seen(code):
    assert starts_programs(ast.parse(code))


@pytest.mark.parametrize("name", ONE_PLACE)
def test_one_module_alone_uses(name):
    assert [path for path, names in USED.items() if name in names] == [ONE_PLACE[name]]
