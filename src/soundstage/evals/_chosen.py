"""The suite of a command: that of a file, with what the options say in the place of the file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import typer

from soundstage.evals._read import LiveSource, live_models, load_suite
from soundstage.evals._suite import Suite


def chosen_suite(path: Path, *, model: str = "", base_url: str = "", replay: bool = False) -> Suite:
    """A suite, with the model that the options name.

    Args:
        path: its file.
        model: `provider/model`, which is asked for real.
        base_url: where that provider is.
        replay: whether the recording of the suite answers.

    Raises:
        typer.BadParameter: for options that cannot go together.
        EnvironmentProblem: without the permission or the key for a live model.
    """
    if replay and model:
        raise typer.BadParameter("--replay asks no provider: leave --model out")
    if base_url and not model:
        raise typer.BadParameter("--base-url says where the model of --model is: give both")
    if not model:
        return load_suite(path, replay=replay)
    provider, _, name = model.partition("/")
    if not name:
        raise typer.BadParameter(f"--model takes PROVIDER/MODEL, such as openai/gpt-4.1; got {model!r}")
    suite = load_suite(path, model=live_models(LiveSource(provider, name, base_url)))
    if any(case.combination and "model" in case.combination.labels for case in suite.cases):
        raise typer.BadParameter("the matrix of the suite says which models are asked: leave --model out")
    mark = hashlib.sha256(f"{suite.fingerprint} {model} {base_url}".encode()).hexdigest()
    return msgspec.structs.replace(suite, fingerprint=mark)


def limited_suite(suite: Suite, *, repeat: int | None, max_cost: float | None) -> Suite:
    """A suite with as many runs, and as much money, as the options say."""
    if repeat is not None:
        cases = [msgspec.structs.replace(one, repeat=None) for one in suite.cases]
        suite = msgspec.structs.replace(suite, repeat=repeat, cases=cases)
    if max_cost is not None:
        budget = msgspec.structs.replace(suite.budget, cost=max_cost)
        suite = msgspec.structs.replace(suite, budget=budget)
    return suite
