"""The one place where git is called: nothing that lies in a repository is run, and nothing is written outside of it.

A repository belongs to whoever may write to it, and here that is the program under test. Its configuration names
programs (hooks, filters, `core.fsmonitor`, `gpg.program`, `diff.external`, text conversions, `include`), and git would
run them as us, outside of whatever the program is kept in. A list of settings to switch off would have holes: filters
and text conversions have names of the repository's choice. So git never reads that configuration.

How it works. git takes configuration, hooks and the like from the "common folder" of a repository, which may be
another one than that of its HEAD and index (GIT_COMMON_DIR in git(1), gitrepository-layout(5)). For each call we make
one that the program cannot reach: its configuration is ours, with those few settings of the repository that only say
how files are stored; its objects and refs are links to the repository's. What else could lead git elsewhere is refused
before it starts: a `.git` that is a file or a link, and links and pipes inside, which git follows when it writes.

Submodules have configurations of their own, which `status` and `diff` read when they look for changes inside; they are
told not to look. `add` cannot be told: leave submodules out of its paths, `update-index` takes them.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.errors import AppError, EnvironmentProblem
from soundstage.lifecycle._scratch import ScratchFolder

WITHIN: Final = 30.0  # seconds for one git command
_KEPT: Final = frozenset(  # of a repository's configuration: how it stores files, and who commits
    {
        *("core.repositoryformatversion", "extensions.objectformat", "extensions.refstorage"),
        *("core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode"),
        *("core.autocrlf", "core.eol", "user.name", "user.email"),
    }
)
_OURS: Final = (
    ("core.quotepath", "false"),
    ("core.fsmonitor", "false"),
    ("commit.gpgsign", "false"),
    ("gc.auto", "0"),  # it would go on in the background
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),  # objects that are missing are not fetched
)
_SHARED: Final = ("objects", "refs", "packed-refs", "logs", "info", "shallow", "reftable")
_BLIND: Final = frozenset({"status", "diff"})  # those that would look into submodules


class GitCall(NamedTuple):
    """A command that calls git, and all of its variables."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


@contextmanager
def git_call(root: Path, *arguments: str) -> Iterator[GitCall]:
    """Calls git for the repository in `root/.git`, or where there is none yet.

    It holds as long as the context. Settings of this machine do not count.

    Args:
        root: the work tree.
        arguments: the command; options of git itself may come before its name.

    Raises:
        AppError: if the repository would lead git out of itself.
        EnvironmentProblem: if git is missing, or cannot read the configuration.
    """
    git = _find_git()
    own = root / ".git"
    with ScratchFolder("git") as scratch:
        variables = _variables(scratch.path, root)
        if os.path.lexists(own):
            refuse_ways_out(own)
            _furnish(scratch.path, own, _settings(git, variables, own / "config"))
            variables |= {
                "GIT_DIR": str(own),
                "GIT_WORK_TREE": str(root),
                "GIT_COMMON_DIR": str(scratch.path),
            }
        else:
            (scratch.path / ".gitconfig").write_text(_configuration(dict(_OURS)))
        yield GitCall((git, *_not_into_submodules(arguments)), variables)


def _find_git() -> str:
    found = shutil.which("git")
    if found is None:
        raise EnvironmentProblem(
            "git is not installed", expected="a program `git` in PATH", hint="install git: apt install git"
        )
    return os.path.abspath(found)  # noqa: PTH100  (before the working folder is the repository's; links stay)


def _variables(scratch: Path, root: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(scratch),
        "XDG_CONFIG_HOME": str(scratch / "none"),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_PAGER": "cat",
    }


def _not_into_submodules(arguments: tuple[str, ...]) -> tuple[str, ...]:
    at = next(place for place, word in enumerate(arguments) if not word.startswith("-"))
    if arguments[at] not in _BLIND or "--no-index" in arguments:
        return arguments
    return (*arguments[: at + 1], "--ignore-submodules=dirty", *arguments[at + 1 :])


def refuse_ways_out(own: Path) -> None:
    """Check that a repository's folder is one, with nothing in it that leads out of it, or that never ends.

    Raises:
        AppError: otherwise.
    """
    wrong = next(_ways_out(own), None)
    if wrong is not None:
        raise AppError(
            f"the repository in {own.parent} is not looked at, since git would follow it elsewhere",
            expected="a folder .git with nothing but files and folders in it",
            seen=f"{wrong} is {_kind(wrong)}",
            hint="a link, a pipe, a worktree or a submodule as the workspace: use a clone of its own",
        )


def _ways_out(path: Path) -> Iterator[Path]:
    if not stat.S_ISDIR(path.lstat().st_mode):
        yield path
        return
    for folder, folders, files in os.walk(path):
        for one in (Path(folder, name) for name in (*folders, *files)):
            mode = one.lstat().st_mode
            # git's own file watcher has a socket, which is not asked
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISSOCK(mode)):
                yield one


def _kind(path: Path) -> str:
    if path.is_symlink():
        return f"a link to {path.readlink()}"
    return "a file" if path.is_file() else "neither a file nor a folder"


def _settings(git: str, variables: Mapping[str, str], file: Path) -> dict[str, str]:
    """Settings that count of a repository's configuration. git reads it as any file: it runs and includes nothing."""
    if not file.is_file():
        return {}
    done = run_git(
        GitCall((git, "config", "--file", str(file), "--no-includes", "--null", "--list"), variables),
        cwd=Path(variables["HOME"]),
    )
    if done.returncode != 0:
        raise EnvironmentProblem(
            "the configuration of a repository cannot be read",
            seen=done.stderr.decode("utf-8", "replace").strip(),
            hint=f"look at {file}",
        )
    lines = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    pairs = (line.partition("\n") for line in lines if line)
    return {key: value if equals else "true" for key, equals, value in pairs if key in _KEPT}


def _furnish(common: Path, own: Path, settings: Mapping[str, str]) -> None:
    hooks = common / "hooks"
    hooks.mkdir()
    text = _configuration({**settings, **dict(_OURS), "core.hookspath": str(hooks)})
    (common / "config").write_text(text, encoding="utf-8", errors="surrogateescape")
    for name in _SHARED:
        (common / name).symlink_to(own / name)


def _configuration(settings: Mapping[str, str]) -> str:
    """As git writes it: gitconfig(5), "Syntax"."""
    lines = []
    for key, value in settings.items():
        section, _, name = key.partition(".")
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'[{section}]\n\t{name} = "{quoted}"\n')
    return "".join(lines)


def run_git(call: GitCall, *, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a call to its end; bytes, and any exit code.

    Raises:
        EnvironmentProblem: if it takes longer than half a minute.
    """
    try:
        return subprocess.run(  # noqa: S603  (git alone, arguments without a shell)
            call.argv,
            cwd=cwd,
            env=dict(call.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WITHIN,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentProblem(
            f"git {' '.join(call.argv[1:])} took longer than {WITHIN:g} s",
            hint=f"look for a lock file in {cwd}/.git",
        ) from None
