"""Two runs compared: the text for the terminal, the page with both runs, and JSON; on journals of scripted runs."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from soundstage.clock import run
from soundstage.differences import Difference, RunDiff, StepDiff, diff_runs, render_diff
from soundstage.differences._page_view import page_comparison
from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.journal import Journal, Noted
from soundstage.messages import ModelRequest, ToolDefinition, system, tool, user
from soundstage.models import JournaledModel, Script, ScriptedModel, complete
from soundstage.report import html_page

TOOLS = (ToolDefinition(name="look"),)


def asked(path, *, prompt="Be kind.\nBe brief.", result="4 C", last="Cold."):
    """A journal file of a run with two steps, and its path."""

    async def main():
        script = Script()
        script.on(iteration=1).reply(tool_calls=[{"name": "look", "arguments": {"city": "Oslo"}}])
        script.on(iteration=2).reply(last)
        with closing(Journal(path)) as journal:
            model = JournaledModel(ScriptedModel(script), journal)
            history = [system(prompt), user("weather?")]
            answer = await complete(model, ModelRequest(model="m", messages=tuple(history), tools=TOOLS))
            history += [answer.message(), tool(answer.tool_calls[0].id, result)]
            await complete(model, ModelRequest(model="m", messages=tuple(history), tools=TOOLS))

    run(main())
    return path


@pytest.fixture
def journals(tmp_path):
    """Two runs: another system prompt, and later another result."""
    return (
        asked(tmp_path / "a.jsonl"),
        asked(tmp_path / "b.jsonl", prompt="Be kind.\nBe exact.", result="5 C", last="Warm."),
    )


def test_the_first_line_names_the_cause_and_then_come_place_lines_and_the_rest(journals):
    report = diff_runs(*journals)
    assert not report.same
    assert report.text.splitlines() == [
        "divergence: system prompt edited",
        "main, step 1 (A @1, B @1); - is A, a.jsonl; + is B, b.jsonl",
        "  system prompt edited: messages[0] system, part 1, line 2",
        "      Be kind.",
        "    - Be brief.",
        "    + Be exact.",
        "differ by themselves too: 1",
        "  main, step 2 (A @4, B @4): tool result differs: messages[3] tool, part 1: recorded '4 C', seen '5 C'",
        "0 of 2 steps are alike",
    ]


def test_equal_runs_are_told_as_same(tmp_path):
    report = diff_runs(asked(tmp_path / "a.jsonl"), asked(tmp_path / "b.jsonl"))
    assert report == ("same: 2 steps", True)


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    paths = [tmp_path / folder / "run.jsonl" for folder in ("old", "new")]
    for path, last in zip(paths, ("Cold.", "Warm."), strict=True):
        path.parent.mkdir()
        asked(path, last=last)
    text = diff_runs(*paths).text
    assert f"- is A, {paths[0]}; + is B, {paths[1]}" in text
    assert text.startswith("divergence: reply differs\nmain, step 2 ")


def test_as_json_it_has_the_first_divergence_and_all_others(journals):
    found = json.loads(diff_runs(*journals, as_json=True).text)
    assert (found["a"], found["b"], found["same"], found["steps"]) == ("a.jsonl", "b.jsonl", False, [2, 2])
    assert found["first"]["found"][0]["cause"] == "system prompt edited"
    assert [one["step"] for one in found["found"]] == [1, 2]
    assert found["found"][0] == found["first"]


def test_the_page_shows_the_verdict_above_both_runs_with_links_to_the_events(journals, tmp_path):
    page = tmp_path / "pages" / "diff.html"
    report = diff_runs(*journals, html=page)
    assert report.text.endswith(f"page: {page}")
    html = page.read_text()
    assert "divergence: system prompt edited</h2>" in html
    assert '<span class="old">-Be brief.</span>' in html
    assert '<a href="#e4">event 4 of A</a>' in html
    assert '<a href="#s2e4">event 4 of B</a>' in html
    assert html.count('<section class="run"') == 2


def test_a_page_of_runs_that_are_the_same_says_so(tmp_path):
    page = tmp_path / "diff.html"
    diff_runs(asked(tmp_path / "a.jsonl"), asked(tmp_path / "b.jsonl"), html=page)
    assert ">same</h2>" in page.read_text()


def test_texts_of_the_runs_are_escaped_on_the_page(tmp_path):
    page = tmp_path / "diff.html"
    paths = [asked(tmp_path / f"{word}.jsonl", last=f"<b>{word}</b>") for word in ("one", "two")]
    diff_runs(*paths, html=page)
    assert "<b>" not in page.read_text()


def test_secrets_are_in_none_of_the_three(tmp_path, monkeypatch):
    paths = [asked(tmp_path / f"{word}.jsonl", last=f"{word} hunter-two-and-more") for word in ("one", "two")]
    monkeypatch.setenv("APP_API_KEY", "hunter-two-and-more")
    page = tmp_path / "diff.html"
    texts = [
        diff_runs(*paths, html=page).text,
        diff_runs(*paths, as_json=True).text,
        page.read_text(),
    ]
    assert ["hunter" in text for text in texts] == [False, False, False]


def test_masks_take_out_what_else_differs(journals):
    assert diff_runs(*journals, mask={"/Be (brief|exact)/": "x", "/[45] C/": "x", "/Cold|Warm/": "x"}).same


def test_journals_with_nothing_to_compare_are_refused(tmp_path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]

    async def main(path):
        with closing(Journal(path)) as journal:
            journal.append(Noted(text="nothing else"), source="test")

    for path in paths:
        run(main(path))
    with pytest.raises(ScriptError, match="nothing to compare"):
        diff_runs(*paths)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(EnvironmentProblem, match=r"none\.jsonl"):
        diff_runs(tmp_path / "none.jsonl", tmp_path / "none.jsonl")


def test_of_many_steps_the_rest_is_counted():
    found = tuple(
        StepDiff(
            lane="main",
            step=number,
            a=number,
            follows=number > 1,
            found=(Difference(cause="missing call", where="main", recorded="x", seen="no such call"),),
        )
        for number in range(1, 300)
    )
    diff = RunDiff(steps=(299, 0), alike=0, found=found)
    text = render_diff(diff, "a", "b")
    assert "followed from it: 298" in text
    assert "  and 268 more" in text
    assert "main, step 1 (A @1 only)" in text
    assert render_diff(diff, "a", "b", colour=True) != text


def test_a_page_with_a_diff_is_made_of_sections(journals):
    with pytest.raises(ScriptError):
        html_page([], diff=page_comparison(RunDiff(steps=(0, 0), alike=0)))
