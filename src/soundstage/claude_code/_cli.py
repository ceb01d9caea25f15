"""The CLI for one command: `claude plugin list --json` and the like, in the home of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.claude_code._binary import INSTALL, TESTED_VERSION
from soundstage.errors import EnvironmentProblem, WaitTimeout
from soundstage.journal import Journal
from soundstage.lifecycle import GRACE, Execution, Finished, Isolator
from soundstage.match import preview

WITHIN: Final = 30.0


def as_json(done: Finished) -> Any:
    """Standard output as JSON.

    Raises:
        EnvironmentProblem: if it is not JSON: the CLI is too old for it, or has crashed.
    """
    try:
        return msgspec.json.decode(done.stdout)
    except msgspec.DecodeError:
        raise EnvironmentProblem(
            "the Claude Code CLI does not answer as it should",
            expected=f"JSON, as version {TESTED_VERSION} prints it",
            seen=f"exit code {done.code}\n{preview(done.stdout, 400)}\n{preview(done.stderr, 400)}",
            hint=f"{INSTALL} brings the version that Soundstage was tested with",
        ) from None


class Cli:
    """Runs commands of the CLI, one process each.

    Args:
        path: the program.
        journal: where starts and exits go.
        source: who it is, in the journal.
        cwd: the folder that it runs in.
        environment: all of its variables.
        isolator: what keeps it apart besides.
    """

    def __init__(
        self,
        path: Path,
        journal: Journal,
        *,
        source: str,
        cwd: Path,
        environment: Mapping[str, str],
        isolator: Isolator | None = None,
    ) -> None:
        self.path = path
        self.journal = journal
        self.source = source
        self.cwd = cwd
        self.environment = dict(environment)
        self.isolator = isolator

    async def run(self, arguments: Sequence[str], *, within: float = WITHIN) -> Finished:
        """Run the CLI with these arguments and wait for its exit."""
        return await run_program(
            [str(self.path), *arguments],
            self.journal,
            source=self.source,
            cwd=self.cwd,
            environment=self.environment,
            within=within,
            isolator=self.isolator,
        )


async def run_program(
    argv: Sequence[str],
    journal: Journal,
    *,
    source: str,
    cwd: Path,
    environment: Mapping[str, str],
    within: float,
    stdin: bytes = b"",
    isolator: Isolator | None = None,
) -> Finished:
    """Run a program to its end.

    Raises:
        WaitTimeout: if it takes longer than `within` seconds; it has been ended then.
    """
    execution = Execution(
        argv,
        cwd=cwd,
        environment=environment,
        stdin=stdin,
        grace=GRACE,
        journal=journal,
        source=source,
        isolator=isolator,
    )
    done = await execution.finish(within)
    if done.expired:
        raise WaitTimeout(
            f"{' '.join(map(str, argv[1:])) or argv[0]} did not end within {within:g} s",
            seen=f"{done.stdout}{done.stderr}".strip() or "no output",
        )
    return done._replace(stdout=done.stdout.removesuffix("\n"), stderr=done.stderr.removesuffix("\n"))
