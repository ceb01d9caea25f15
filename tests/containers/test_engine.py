"""The connection to the container engine: what it costs, and what is said where there is none."""

from __future__ import annotations

import os

import pytest

from soundstage.containers import _engine, engine_problem
from soundstage.containers._engine import Engine, address


def test_connecting_again_asks_the_engine_nothing(busybox, monkeypatch):
    import requests

    first = Engine.connect_now()
    monkeypatch.setattr(requests.Session, "send", lambda *_, **__: pytest.fail("the engine was asked"))
    second = Engine.connect_now()
    assert (second.is_podman, second.is_rootless) == (first.is_podman, first.is_rootless)
    assert second.client.api.api_version == first.client.api.api_version
    first.close()
    second.close()


def test_another_engine_is_asked_what_it_is(busybox, monkeypatch):
    known = Engine.connect_now()
    other = _engine._Kind(
        api_version="1.30", is_podman=not known.is_podman, is_rootless=not known.is_rootless
    )
    monkeypatch.setattr(_engine, "_kinds", {"unix:///elsewhere.sock": other})
    again = Engine.connect_now()
    assert again.is_podman == known.is_podman
    known.close()
    again.close()


def test_there_is_no_problem_where_an_engine_answers(busybox):
    assert engine_problem() is None


def test_the_problem_says_where_no_engine_answers_and_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    text = str(engine_problem())
    assert "no container engine answers" in text
    assert f"{tmp_path}/none.sock" in text
    assert "tools/podman.sh" in text


def test_an_engine_on_another_machine_is_a_problem(busybox, monkeypatch):
    known = Engine.connect_now()
    known.close()
    far = "tcp://far.example:2375"
    monkeypatch.setitem(_engine._kinds, far, _engine._kinds[address(os.environ)])
    monkeypatch.setattr(_engine, "_swept", {far})
    monkeypatch.setenv("DOCKER_HOST", far)
    assert "not on this machine" in str(engine_problem())


def test_a_list_is_asked_for_again_when_something_vanished_meanwhile_and_other_errors_are_told():
    import docker

    said = ["container 1 does not exist in database: no such container", "no such network", "disk full"]

    def work():
        raise docker.errors.APIError("500", explanation=said.pop(0))

    with pytest.raises(docker.errors.APIError, match="disk full"):
        _engine.listed(work)
    assert _engine.listed(lambda: [1]) == [1]
