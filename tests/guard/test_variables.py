"""A run's values stand in the place of the user's, and those come back whatever the order in which runs end."""

from __future__ import annotations

import itertools
import os

import pytest

from soundstage.guard import put, real_environment, real_proxy, real_variable

NAME = "SOUNDSTAGE_TEST_KEY"


@pytest.fixture(autouse=True)
def the_users(monkeypatch):
    monkeypatch.setenv(NAME, "real")
    monkeypatch.delenv("SOUNDSTAGE_TEST_NEW", raising=False)


def test_a_value_stands_in_and_the_real_one_comes_back():
    undo = put({NAME: "stand-in", "SOUNDSTAGE_TEST_NEW": "x"})
    assert (os.environ[NAME], real_variable(NAME)) == ("stand-in", "real")
    assert real_variable("SOUNDSTAGE_TEST_NEW") is None
    assert real_environment()[NAME] == "real"
    undo()
    undo()
    assert os.environ[NAME] == "real"
    assert "SOUNDSTAGE_TEST_NEW" not in os.environ


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_runs_may_end_in_any_order(order):
    undos = [put({NAME: value}) for value in ("first", None, "third")]
    left = {0: "first", 1: None, 2: "third"}
    for index in order:
        undos[index]()
        del left[index]
        newest = left[max(left)] if left else "real"
        assert os.environ.get(NAME) == newest
        assert real_variable(NAME) == "real"


def test_what_the_test_sets_itself_meanwhile_is_real():
    undo = put({NAME: "stand-in"})
    os.environ[NAME] = "the test's own"
    assert real_variable(NAME) == "the test's own"
    undo()
    assert os.environ[NAME] == "real"


def test_the_users_proxy_is_found_behind_ours(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HTTPS_PROXY", "http://192.0.2.9:3128")
    monkeypatch.setenv("NO_PROXY", "near.example.com")
    undo = put({"HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": None})
    assert real_proxy("https://api.example.com/v1") == "http://192.0.2.9:3128"
    assert real_proxy("https://near.example.com/v1") is None
    undo()
