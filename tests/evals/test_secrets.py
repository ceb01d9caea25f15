"""A secret of the environment is in no report, wherever it comes from."""

from __future__ import annotations

import asyncio
import json

import pytest

from soundstage.evals import Case, NamedEvaluator, evaluator_of, run_suite
from soundstage.evals._report_text import as_junit, as_markdown, as_text

from .conftest import suite_of

SECRET = "sk-live-4f9d2c1b7e6a8053"


def said(_):
    """The agent answers with it, and an evaluator quotes the answer."""
    return SECRET


def raised(_):
    raise ValueError(f"no access with {SECRET}")


def answered(_):
    return "nothing"


def broken(run):
    raise RuntimeError(f"cannot log in with {SECRET}")


@pytest.mark.parametrize(
    ("agent", "evaluator", "outcome"),
    [
        (said, evaluator_of("equals", "something else"), "failed"),
        (raised, evaluator_of("contains", "x"), "failed"),
        (answered, NamedEvaluator("mine", broken), "error"),
        (answered, NamedEvaluator("mine", lambda run: SECRET), "passed"),
    ],
)
def test_a_secret_is_in_no_report_and_in_no_file_of_the_store(store, monkeypatch, agent, evaluator, outcome):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    told = []
    suite = suite_of(agent, cases=[Case(name="a", input="go", expect=(evaluator,))])
    report = asyncio.run(run_suite(suite, store=store, on_run=told.append))
    assert [one.outcome for one in told] == [outcome]
    texts = {form.__name__: form(report) for form in (as_text, as_junit, as_markdown, repr)}
    texts |= {"json": json.dumps(report.as_json()), "told": repr(told)}
    texts |= {str(path): path.read_text(errors="replace") for path in store.root.rglob("*") if path.is_file()}
    assert [name for name, text in texts.items() if SECRET in text] == []
