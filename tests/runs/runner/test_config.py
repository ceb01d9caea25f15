"""The configuration of a run: call over environment over runner over files over defaults, each with its source."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import run
from soundstage.config import load_settings
from soundstage.drivers import Command
from soundstage.errors import ConfigError
from soundstage.journal import Journal
from soundstage.runs import AgentRunner, RunOpened

FILE = 'run_model = "of the file"\nrun_timeout = 30\n'
PLACES = ("call", "environment", "config", "file")


async def agent(prompt, context):
    """Answers nothing."""


def configured(tmp_path, places, target=agent):
    """The configuration of a runner that is given a model in some places, in its call last."""
    if "file" in places:
        (tmp_path / "soundstage.toml").write_text(FILE)
    variables = {"SOUNDSTAGE_RUN_MODEL": "of the environment"} if "environment" in places else {}
    runner = AgentRunner(
        target,
        journal=Journal(),
        settings=load_settings(tmp_path, variables),
        config={"model": "of the config"} if "config" in places else None,
    )
    return runner.configuration(**({"model": "of the call"} if "call" in places else {}))


@pytest.mark.parametrize("strongest", PLACES)
def test_the_strongest_place_that_gives_a_value_wins_and_is_named_as_its_source(tmp_path, strongest):
    config = configured(tmp_path, PLACES[PLACES.index(strongest) :])
    assert config.model == f"of the {strongest}"
    named = {
        "environment": "environment SOUNDSTAGE_RUN_MODEL",
        "file": str(tmp_path / "soundstage.toml"),
    }
    assert config.source("model") == named.get(strongest, strongest)


def test_what_nobody_gives_has_its_default(tmp_path):
    config = configured(tmp_path, ())
    assert (config.model, config.timeout, config.session_timeout, config.start) == ("", 600, None, {})
    assert config.source("timeout") == "default"


def test_the_target_is_started_with_exactly_the_resolved_options():
    started = []

    def target(config):
        started.append((config.start, config.sources))
        return agent

    journal = Journal()
    runner = AgentRunner(
        target, journal=journal, config={"model": "m", "options": {"max_turns": 3, "permission_mode": "plan"}}
    )
    asyncio.run(runner.run("go", options={"max_turns": 5}))
    sources = {
        "model": "config",
        "options.max_turns": "call",
        "options.permission_mode": "config",
    }
    assert started == [({"model": "m", "max_turns": 5, "permission_mode": "plan"}, sources)]
    assert journal.events(RunOpened)[0].sources == sources


@pytest.mark.parametrize(
    ("config", "call", "path", "hint"),
    [
        ({}, {"modle": "x"}, r"call\.modle", "write 'model'"),
        ({"tiemout": 3}, {}, r"config\.tiemout", "write 'timeout'"),
        ({}, {"permission_mode": "plan"}, r"call\.permission_mode", "options="),
        ({"timeout": "soon"}, {}, r"config\.timeout has a wrong value", ""),
        ({}, {"timeout": 0}, r"call\.timeout has a wrong value", ""),
        ({}, {"options": ["a"]}, r"call\.options has a wrong value", ""),
        ({}, {"sources": {}}, r"call\.sources", ""),
    ],
)
def test_an_unknown_key_or_a_wrong_value_is_refused_with_its_path_before_the_target_is_asked(
    config, call, path, hint
):
    async def never(prompt, context):
        raise AssertionError("the target was asked")

    runner = AgentRunner(never, journal=Journal(), config=config)
    with pytest.raises(ConfigError, match=path) as error:
        run(runner.run("go", **call))
    assert hint in error.value.hint


@pytest.mark.parametrize("source", ["config", "environment"])
def test_an_option_for_the_start_of_a_target_that_is_made_already_is_refused_with_its_source(
    tmp_path, source
):
    program = Command(["true"], Journal())
    with pytest.raises(ConfigError, match=rf"{source}.*model: true has been made already"):
        configured(tmp_path, (source,), program)


def test_a_source_is_asked_for_by_the_path_of_a_value(tmp_path):
    with pytest.raises(ConfigError, match=r"source\.options\.nothing"):
        configured(tmp_path, ()).source("options.nothing")
