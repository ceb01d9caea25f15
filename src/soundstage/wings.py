"""Wings: each brings one kind of world, program or framework, and says in one record what it brings.

The core names no wing. It reads the records, and from them everything follows: a journal of any run can be read, the
pytest plugin has the wing's fixtures, the command line has its commands. A record holds names of modules alone, so that
nothing is imported before it is used. `HostBuilder().add(World)` needs no record: it takes the class.

Wings of this package are in the table below. A wing in a package of its own is an entry point of that package:

    [project.entry-points."soundstage.wings"]
    mailbox = "soundstage_mailbox.wing:WING"

Its module is imported when the records are first needed, at each start of pytest: it should import `soundstage.wings`
alone, and so should the `__init__` of its package, or load its names when they are first used.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from soundstage.errors import EnvironmentProblem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "Wing", "lazy_window", "load_target", "reader_of", "wings"]

GROUP: Final = "soundstage.wings"


@dataclass(frozen=True, kw_only=True)
class Wing:
    """One wing.

    Args:
        name: as users call it; two wings have different names.
        events: modules that define its event classes. They must import without its extra.
        fixtures: modules with its pytest fixtures. They must import without its extra, and fast.
        real_time: those of its fixtures that need the machine's time, because they use sockets or processes.
        scripts: top-level keys of script files of its own, each with `module:name` of a function that checks such a
            file and returns its problems, for `soundstage check`.
        rules: top-level keys of script files of other tools, each with `module:name` of a function that makes a model's
            script of such a file: of its `scripts.SourceNode` and `SourceReport` a `models.ParsedScript`.
        commands: names of commands of `soundstage`, each with `module:name` of a function, or of a `typer.Typer`.
        models: fields of the first line of files of its own that can answer as a model, each with `module:name` of a
            function that takes the path, and returns what makes a model for each run.
        readers: fields of the first line of files of its own that tell of a run, each with `module:name` of a function
            that reads such a file: `soundstage show` and `diff` take it as they take a journal. The function gets the
            path and returns a `report.RunFile`.
        levels: names of isolation levels, each with `module:name` of what makes one, a `drivers.Level`: without
            arguments, or, for a name such as `service:SOCKET`, of the text behind the colon.
        sources: names of pytest marks with which another model than the script answers a test, each with `module:name`
            of what makes its `pytest_plugin.AnswerSource` of a `pytest.Item`.
        console: `module:name` of the class with which `HostBuilder.with_program` runs the app under test: a
            `worlds.Console` whose app is a program; it takes what `terminal.TerminalConsole` does.
        context: `module:name` of the function that tells what a model was given at a step, for `soundstage show
            --context`: of a `trace.Trace`, a position, and `colour`, whether it may have ANSI escapes.
        tools: `module:name` of the `mcp.server.Toolset` that `soundstage mcp` offers.
        uses: names of the wings whose modules it imports.

    Example:
        >>> Wing(name="mailbox", events=("soundstage_mailbox.events",)).fixtures
        ()
    """

    name: str
    events: tuple[str, ...] = ()
    fixtures: tuple[str, ...] = ()
    real_time: tuple[str, ...] = ()
    scripts: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    readers: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    console: str = ""
    context: str = ""
    tools: str = ""
    uses: tuple[str, ...] = ()


_OURS: Final = (
    Wing(name="agents", events=("soundstage.agents._entries", "soundstage.agents.teams._events")),
    Wing(name="aimock", rules={"fixtures": "soundstage.aimock._fixture_file:convert"}),
    Wing(
        name="claude_code",
        events=("soundstage.claude_code._events",),
        fixtures=("soundstage.claude_code._fixtures",),
        real_time=("claude_code",),
        commands={
            "plugin": "soundstage.claude_code._command_line:plugin",
            "project": "soundstage.claude_code._command_line:project",
        },
        tools="soundstage.claude_code.harness._table:TOOLSET",
        uses=("mcp", "isolation", "terminal"),
    ),
    Wing(
        name="containers",
        events=("soundstage.containers._events",),
        fixtures=("soundstage.containers._fixtures",),
        real_time=("docker_environment",),
        levels={"container": "soundstage.containers:InContainer"},
        uses=("isolation",),
    ),
    Wing(name="demo", commands={"demo": "soundstage.demo._command:demo"}),
    Wing(
        name="differences",
        commands={"diff": "soundstage.differences._command_line:diff"},
        context="soundstage.differences._context_text:context_text",
    ),
    Wing(
        name="discord",
        events=("soundstage.discord._events",),
        fixtures=("soundstage.discord._fixtures",),
        real_time=("discord",),
    ),
    Wing(
        name="evals",
        events=("soundstage.evals._events",),
        fixtures=("soundstage.evals._fixtures",),
        commands={"eval": "soundstage.evals._command_line:evals"},
        uses=("claude_code", "judges", "live", "runs", "tapes"),
    ),
    Wing(
        name="faults",
        fixtures=("soundstage.faults._fixtures",),
        commands={"faults": "soundstage.faults._command_line:faults"},
        uses=("live",),
    ),
    Wing(
        name="isolation",
        levels={
            "netns": "soundstage.isolation:InNetwork",
            "sandbox": "soundstage.isolation:InSandbox",
            "service:SOCKET": "soundstage.isolation._levels:in_service",
        },
    ),
    Wing(
        name="judges",
        events=("soundstage.judges._events",),
        fixtures=("soundstage.judges._fixtures",),
        commands={"judge": "soundstage.judges._command_line:judge_app"},
        uses=("live", "runs"),
    ),
    Wing(name="live", events=("soundstage.live._events",)),
    Wing(
        name="mcp",
        events=("soundstage.mcp._events",),
        fixtures=("soundstage.mcp._fixtures",),
        real_time=("mcp_server",),
        scripts={"mcp": "soundstage.mcp:mcp_script_problems"},
        commands={"mcp": "soundstage.mcp._command_line:mcp"},
    ),
    Wing(
        name="nostr",
        events=("soundstage.nostr._events",),
        fixtures=("soundstage.nostr._fixtures",),
        real_time=("nostr_relay",),
    ),
    Wing(
        name="otel",
        events=("soundstage.otel._events",),
        fixtures=("soundstage.otel._fixtures",),
        real_time=("otlp",),
    ),
    Wing(
        name="runs",
        events=("soundstage.runs._events",),
        fixtures=("soundstage.runs._fixtures",),
        commands={"runs": "soundstage.runs._command_line:runs"},
    ),
    Wing(name="snapshots", fixtures=("soundstage.snapshots._fixtures",)),
    Wing(
        name="scenarios",
        fixtures=("soundstage.scenarios._fixtures",),
        commands={"scenario": "soundstage.scenarios._command_line:scenario"},
        uses=("claude_code", "differences", "judges", "runs"),
    ),
    Wing(
        name="tapes",
        fixtures=("soundstage.tapes._fixtures",),
        real_time=("mcp_servers",),
        sources={"tape": "soundstage.tapes._source:TapeSource"},
        models=dict.fromkeys(("line", "timestamp"), "soundstage.tapes._taped_model:models_of_tape"),
        readers=dict.fromkeys(("line", "timestamp", "method"), "soundstage.tapes._as_run:run_of_tape"),
        commands={
            "codegen": "soundstage.tapes._codegen_command:codegen",
            "doctor": "soundstage.tapes._doctor_command:doctor",
            "fork": "soundstage.tapes._fork_command:fork",
            "record": "soundstage.tapes._commands:record",
            "replay": "soundstage.tapes._commands:replay",
            "script": "soundstage.tapes._script_commands:script_app",
            "tape": "soundstage.tapes._tape_commands:app",
        },
        uses=("differences", "live", "mcp"),
    ),
    Wing(
        name="terminal",
        fixtures=("soundstage.terminal._fixtures",),
        real_time=("terminal",),
        console="soundstage.terminal:TerminalConsole",
    ),
    Wing(
        name="workflows",
        events=("soundstage.workflows._events",),
        fixtures=("soundstage.workflows._fixtures",),
        uses=("judges", "runs"),
    ),
)


@functools.cache
def wings() -> tuple[Wing, ...]:
    """All wings: those of this package, then those of installed packages, by name.

    Raises:
        EnvironmentProblem: if an installed package's record cannot be had, or has the name of another wing.

    Example:
        >>> "nostr" in {wing.name for wing in wings()}
        True
    """
    from importlib.metadata import entry_points  # it costs 20 ms, and most runs read no foreign events

    found = entry_points(group=GROUP)
    return _checked([*_OURS, *(_record_of(point) for point in sorted(found, key=lambda point: point.name))])


def _record_of(point: EntryPoint) -> Wing:
    """The record that an entry point names; what goes wrong in a foreign package is told with its name."""
    try:
        record = point.load()
    except Exception as error:
        raise _broken(point, f"{type(error).__name__}: {error}") from error
    if not isinstance(record, Wing):
        raise _broken(point, f"{type(record).__name__}: {record!r}")
    return record


def _broken(point: EntryPoint, seen: str) -> EnvironmentProblem:
    package = point.dist.name if point.dist is not None else point.value
    return EnvironmentProblem(
        f"the wing {point.name!r} of the package {package} cannot be used",
        expected=f"a soundstage.wings.Wing at {point.value}",
        seen=seen,
        hint=f"mend that package, or: pip uninstall {package}",
    )


def _checked(records: Iterable[Wing]) -> tuple[Wing, ...]:
    """The records, if every name, every command and every kind of script is there once."""
    owners: dict[str, str] = {}
    found = tuple(records)
    for wing in found:
        commands = (f"the command {command!r}" for command in wing.commands)
        levels = (f"the isolation level {level!r}" for level in wing.levels)
        scripts = (f"the scripts with {key!r}" for key in (*wing.scripts, *wing.rules))
        readers = (f"the files of runs with {field!r}" for field in wing.readers)
        console = ("the console of programs",) if wing.console else ()
        context = ("the context of steps",) if wing.context else ()
        for name in (f"the name {wing.name!r}", *commands, *scripts, *readers, *levels, *console, *context):
            if name in owners:
                raise EnvironmentProblem(
                    f"two wings have {name}: {owners[name]} and {wing.name}",
                    hint="uninstall the package of one of them",
                )
            owners[name] = wing.name
    return found


def load_target(target: str) -> Any:
    """The object at `module:name`.

    Raises:
        ImportError: if the module cannot be imported.
        AttributeError: if the module has no such name.

    Example:
        >>> load_target("soundstage.wings:GROUP")
        'soundstage.wings'
    """
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def reader_of(path: Path, readers: Callable[[Wing], Mapping[str, str]]) -> Any:
    """The function with which a wing reads a file; nothing if none does. A wing does by a field of the first line.

    Args:
        path: the file.
        readers: those of a wing: `module:name` of a function by the name of a field.

    Example:
        >>> reader_of(Path("no.such.file"), lambda wing: wing.models)
    """
    fields = _fields_of_first_line(path)
    for wing in wings():
        for name in fields & set(readers(wing)):
            return load_target(readers(wing)[name])
    return None


def _fields_of_first_line(path: Path) -> set[str]:
    with contextlib.suppress(OSError, ValueError, RecursionError), path.open("rb") as file:
        found = json.loads(next((line for line in file if line.strip()), b"null"))
        return set(found) if isinstance(found, dict) else set()
    return set()


Window = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazy_window(package: str, file: str, *, extra: str = "") -> Window:
    """`__getattr__`, `__dir__` and `__all__` of a package whose names are loaded when they are first used.

    The names stand in `__init__.pyi` beside it, as relative imports, which editors and type checkers read.

    Args:
        package: its `__name__`.
        file: its `__file__`.
        extra: what the user has to install for it, as `pip` takes it: a missing module is told with that.

    Example:
        ::

            __getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[nostr]")
    """
    import lazy_loader

    load, names, public = lazy_loader.attach_stub(package, file)
    public.sort(key=lambda name: (not name.isupper(), not name[0].isupper(), name))

    def load_or_tell(name: str) -> Any:
        if name not in names():
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(public)}")
        try:
            return load(name)
        except ModuleNotFoundError as error:
            if not extra or (error.name or package).split(".")[0] == package.split(".", maxsplit=1)[0]:
                raise
            raise EnvironmentProblem(
                f"{package} needs the module {error.name}, which is not installed",
                hint=f"pip install '{extra}'",
            ) from error

    return load_or_tell, names, public
