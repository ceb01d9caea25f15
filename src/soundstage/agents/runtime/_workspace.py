"""The tools of a workspace: files below one folder, its repository, a shell, and the web through a door.

Paths are relative to the folder; what leads out of it is refused. The shell is not so confined: it is a real
one, so give it to agents that may have it, and run them where that does no harm.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from soundstage.agents.runtime._errors import ToolError
from soundstage.agents.runtime._folder import Folder, content, globbed
from soundstage.agents.runtime._map import outline
from soundstage.agents.runtime._tool import Tool, ToolContext, tool
from soundstage.errors import AppError, EnvironmentProblem, ToolDefinitionError
from soundstage.journal import without_secrets
from soundstage.lifecycle import Execution, Finished, git_call

Fetch = Callable[[str], str | Awaitable[str]]
"""Gets a URL or a query, gives text; may be `async`."""

MOST: Final = 500  # names or matches in one result
_WORKER: Final = Path(__file__).with_name("_grep_worker.py")
_PYTHON_NEEDS: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # where a Python build may find itself
_DEEPEST: Final = 10
_READ: Final = 64 * 1024 * 1024  # bytes of files that are read before a shell command


def workspace_tools(
    root: Path | str,
    *,
    fetch: Fetch | None = None,
    search: Fetch | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Tool, ...]:
    """The standard tools over a folder.

    `read_file`, `glob`, `grep`, `tree_view`, `git_diff` and `repo_map` need `read`; `write_file` and
    `edit_file` need `write`; `bash` needs `execute`; `web_fetch` and `web_search` need `web`.

    Args:
        root: the folder.
        fetch: gets the page at a URL. Without it `web_fetch` is an error that says so: nothing leaves by itself.
        search: answers a web search, likewise.
        environment: the variables of the shell, less those that are named like secrets; the process's own
            unless given.

    Raises:
        ToolDefinitionError: if there is no such folder.

    Example:
        >>> [tool.name for tool in workspace_tools(".")][:4]
        ['read_file', 'glob', 'grep', 'tree_view']
    """
    if not Path(root).is_dir():
        raise ToolDefinitionError(
            "a workspace needs a folder",
            expected="a folder that exists",
            seen=str(root),
            hint="make it first",
        )
    folder = Folder(Path(root))
    variables = without_secrets(os.environ if environment is None else environment)
    return (
        *_reading(folder),
        *_repository(folder),
        *_writing(folder),
        _shell(folder, variables),
        *_web(fetch, search),
    )


def _reading(folder: Folder) -> tuple[Tool, ...]:
    @tool(permissions="read")
    def read_file(path: str, start: int = 1, lines: int = 2000) -> str:
        """Read a text file.

        Args:
            path: the file, relative to the workspace.
            start: the first line to read, from 1.
            lines: how many lines to read.
        """
        if start < 1 or lines < 1:
            raise ToolError("start and lines count from 1")
        return "".join(folder.read(path).splitlines(keepends=True)[start - 1 : start - 1 + lines])

    @tool(permissions="read")
    def glob(pattern: str, path: str = ".") -> str:
        """List the files whose path fits a pattern, e.g. `**/*.py`.

        Args:
            pattern: `*` and `?` within a folder, `**` through folders; relative to `path`.
            path: the folder to look in.
        """
        below = folder.folder(path)
        names = [file.relative_to(below).as_posix() for file in folder.files(below)]
        found = [folder.name(below / name) for name in globbed(pattern, names)]
        return _listed(found) or f"no file fits {pattern!r}"

    @tool(permissions="read", timeout=30.0)
    def grep(
        pattern: str, path: str = ".", files: str = "**", *, ignore_case: bool = False, context: ToolContext
    ) -> str:
        """Search files for a regular expression; shows `path:line: text`.

        Args:
            pattern: the expression, as Python's `re` has it; looked for in each line.
            path: a file, or the folder to look in.
            files: which files, e.g. `**/*.py`.
            ignore_case: whether upper and lower case are the same.
        """
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise ToolError(f"{pattern!r} is not a regular expression: {error}") from None
        at = folder.at(path)
        among = [at] if at.is_file() else folder.files(folder.folder(path))
        names = globbed(files, [folder.name(file) for file in among])
        job = {"pattern": pattern, "root": str(folder.root), "files": names, "limit": MOST}
        execution = Execution(
            (sys.executable, "-I", "-S", "-X", "utf8", str(_WORKER)),
            cwd=folder.root,
            environment={name: os.environ[name] for name in _PYTHON_NEEDS if name in os.environ},
            stdin=json.dumps({**job, "ignore_case": ignore_case}).encode(),
        )
        done = _run(execution, context)
        if done.code != 0:
            raise ToolError(f"the search failed: {done.stderr.strip() or done.code}")
        return done.stdout or f"nothing matches {pattern!r}"

    @tool(permissions="read")
    def tree_view(path: str = ".", depth: int = 3) -> str:
        """Show the files and folders below a folder as a tree.

        Args:
            path: the folder.
            depth: how many levels to show.
        """
        below = folder.folder(path)
        levels = min(max(depth, 1), _DEEPEST)
        shown: dict[str, None] = {}
        for file in folder.files(below):
            parts = file.relative_to(below).parts
            for level in range(min(len(parts), levels)):
                folded = "/" if level + 1 < len(parts) else ""
                shown["  " * level + parts[level] + folded + "\0" + "/".join(parts[:level])] = None
        return _listed([line.partition("\0")[0] for line in shown]) or "the folder is empty"

    return read_file, glob, grep, tree_view


def _listed(names: list[str]) -> str:
    more = [f"[{len(names) - MOST} more]"] if len(names) > MOST else []
    return "\n".join([*names[:MOST], *more])


def _run(execution: Execution, context: ToolContext, within: float = math.inf) -> Finished:
    """Run a program within the tool's time.

    Raises:
        ToolError: if it cannot be run, or its time was up.
    """
    within = min(within, context.within)
    context.on_stop(execution.stop)
    try:
        done = execution.run(within)
    except EnvironmentProblem as error:
        raise ToolError(f"the command cannot be run: {error.seen}") from None
    if done.expired:
        raise ToolError(f"no end within {within:g} s; it was stopped. Its output:\n{done.stdout}")
    return done


def _repository(folder: Folder) -> tuple[Tool, ...]:
    @tool(permissions="read", timeout=30.0)
    def git_diff(path: str = ".", *, staged: bool = False, context: ToolContext) -> str:
        """Show what has changed in the repository since the last commit.

        Args:
            path: a file or folder to look at.
            staged: only what is staged.
        """
        at = folder.at(path)
        if not (folder.root / ".git").exists():
            raise ToolError("the workspace is not a git repository")
        against = "--cached" if staged else "HEAD"
        look = ("--no-optional-locks", "diff", "--no-ext-diff", "--no-textconv", against, "--", str(at))
        try:
            with git_call(folder.root, *look) as call:
                execution = Execution(call.argv, cwd=folder.root, environment=call.environment)
                done = _run(execution, context)
        except (AppError, EnvironmentProblem) as error:
            raise ToolError(str(error)) from None
        if done.code != 0:
            raise ToolError(f"git: {done.stderr.strip() or done.code}")
        return done.stdout or "nothing has changed"

    @tool(permissions="read", timeout=30.0)
    def repo_map(path: str = ".") -> str:
        """Show the classes and functions of the files below a folder.

        Args:
            path: the folder.
        """
        blocks = []
        for file in folder.files(folder.folder(path)):
            name = folder.name(file)
            try:
                lines = outline(name, folder.read(name))
            except ToolError:
                continue
            if lines:
                blocks.append("\n".join([f"{name}:", *(f"  {line}" for line in lines)]))
        return "\n".join(blocks) or "no program was found"

    return git_diff, repo_map


def _writing(folder: Folder) -> tuple[Tool, ...]:
    @tool(permissions="write")
    def write_file(path: str, content: str, *, context: ToolContext) -> str:
        """Write a whole file; folders on the way are made.

        Args:
            path: the file, relative to the workspace.
            content: all of its text.
        """
        name, before, after = folder.write(path, content)
        context.changed(name, before, after)
        return f"{'wrote' if before is None else 'replaced'} {name}: {len(content.splitlines())} lines"

    @tool(permissions="write")
    def edit_file(path: str, old: str, new: str, *, all: bool = False, context: ToolContext) -> str:  # noqa: A002
        """Replace a text in a file.

        Args:
            path: the file, relative to the workspace.
            old: the text to replace, exactly as it is in the file.
            new: what comes in its place.
            all: every occurrence; without it there must be exactly one.
        """
        text = folder.read(path)
        count = text.count(old) if old else 0
        if count == 0:
            raise ToolError(f"{path!r} does not contain the text to replace; read it again")
        if count > 1 and not all:
            raise ToolError(f"the text is {count} times in {path!r}; give more of it, or set `all`")
        name, before, after = folder.write(path, text.replace(old, new))
        context.changed(name, before, after)
        return f"replaced {count} in {name}"

    return write_file, edit_file


def _shell(folder: Folder, variables: Mapping[str, str]) -> Tool:
    @tool(permissions="execute", timeout=600.0)
    def bash(command: str, timeout: float = 120.0, *, context: ToolContext) -> str:
        """Run a shell command in the workspace; shows its output. What it leaves running is ended.

        Args:
            command: the command.
            timeout: seconds that it may take.
        """
        if not timeout > 0:
            raise ToolError("a timeout is more than 0 seconds")
        argv = ("/bin/sh", "-c", command)
        execution = Execution(argv, cwd=folder.root, environment=variables, together=True)
        before = folder.state()
        contents = _contents(folder, before)
        try:
            done = _run(execution, context, timeout)
        finally:
            _tell_changes(folder, before, contents, context)
        if done.code != 0:
            raise ToolError(f"exit code {done.code}\n{done.stdout}")
        return done.stdout

    return bash


def _contents(folder: Folder, state: Mapping[str, tuple[int, int, int]]) -> dict[str, bytes | str]:
    """The content of each file, of large ones the sha256; empty for those after the first 64 MB."""
    left = _READ
    found: dict[str, bytes | str] = {}
    for name, (_, size, _) in state.items():
        left -= size
        known = content(folder.root / name) if left >= 0 else None
        found[name] = known if known is not None else ""
    return found


def _tell_changes(
    folder: Folder,
    before: Mapping[str, tuple[int, int, int]],
    contents: Mapping[str, bytes | str],
    context: ToolContext,
) -> None:
    after = folder.state()
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            context.changed(name, contents.get(name), content(folder.root / name))


def _web(fetch: Fetch | None, search: Fetch | None) -> tuple[Tool, ...]:
    @tool(permissions="web")
    async def web_fetch(url: str) -> str:
        """Get the page at a URL.

        Args:
            url: its address, with http:// or https://.
        """
        if not re.match(r"https?://[^\s/]", url):
            raise ToolError(f"{url!r} is no address of a page; it begins with https://")
        return await _through(fetch, url, "web_fetch", "fetch")

    @tool(permissions="web")
    async def web_search(query: str) -> str:
        """Search the web.

        Args:
            query: what to look for.
        """
        return await _through(search, query, "web_search", "search")

    return web_fetch, web_search


async def _through(door: Fetch | None, text: str, name: str, argument: str) -> str:
    if door is None:
        raise ToolError(f"{name} has no way out; it needs workspace_tools(..., {argument}=...)")
    found = door(text)
    return found if isinstance(found, str) else await found
