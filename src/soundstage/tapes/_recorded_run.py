"""The recorded calls of a program as a script: from a tape, or from a run of it, live or on a script."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from soundstage.errors import ConfigError
from soundstage.lifecycle import ScratchFolder
from soundstage.tapes._run import RunOptions, run_with_tape, upstreams_of
from soundstage.tapes._tape import Tape
from soundstage.tapes._to_script import ScriptDraft, script_of_tape


def recorded_draft(
    argv: Sequence[str],
    files: Sequence[Path],
    *,
    script: Path | None = None,
    tape: Path | None = None,
    upstream: Sequence[str] = (),
) -> ScriptDraft:
    """The calls of a program, and the answers, as a script.

    Args:
        argv: the program and its arguments, with full paths.
        files: files that it finds in its folder.
        script: what answers it.
        tape: a tape of it; then it is not run.
        upstream: base URLs of providers, for a live run.

    Raises:
        ConfigError: if more than one of script, tape and upstreams is given.
        EnvironmentProblem: if the program cannot be run.
    """
    given = [
        name for name, value in (("--script", script), ("--tape", tape), ("--upstream", upstream)) if value
    ]
    if len(given) > 1:
        raise ConfigError(
            "a program is answered by a script, by a tape or by providers",
            expected="one of --script, --tape, --upstream",
            seen=" and ".join(given),
        )
    if tape is not None:
        recorded = Tape.load(tape)
        recorded.require_models_alone("a test with a script")
        return script_of_tape(recorded.exchanges)
    scratch = ScratchFolder("codegen")
    try:
        folder = scratch.path / "work"
        folder.mkdir()
        for file in files:
            shutil.copy(file, folder / file.name)
        kept = scratch.path / "run.tape"
        run_with_tape(
            RunOptions(
                kept, tuple(argv), mode="all", upstreams=upstreams_of(upstream), script=script, cwd=folder
            )
        )
        return script_of_tape(Tape.load(kept).exchanges) if kept.exists() else ScriptDraft(())
    finally:
        scratch.close()
