"""`soundstage eval report`: from the store alone, in every form; nothing is half written, nothing is secret."""

from __future__ import annotations

import asyncio
import json
import re
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.conftest import suite_of
from soundstage.errors import ConfigError, EnvironmentProblem, FileError
from soundstage.evals import Case, evaluator_of, pack_report, run_suite, stored_report, write_report
from soundstage.evals import _history as history
from soundstage.evals import _packed as packed
from soundstage.evals._command_line import evals
from soundstage.evals._history import case_drift, case_history
from soundstage.evals.statistics import Drift
from soundstage.messages import ModelRequest, user
from soundstage.models import complete
from soundstage.report import GridCell, GridRow, RunGrid, row_id, write_grid
from soundstage.runs import RunStore

SECRET = "wonderland-tea-at-five"


async def agent(prompt, place):
    """One that writes a file, and answers every second run of `oslo` with snow."""
    (place.workspace.root / "note.txt").write_text(f"{prompt}\n")
    reply = await complete(place.model, ModelRequest(model="gpt-4.1", messages=(user(prompt),)))
    return f"{reply.text} {SECRET}"


def made(store, **fields):
    cases = [
        Case(name="paris", input="weather in Paris", expect=(evaluator_of("contains", "sunny"),)),
        Case(
            name="oslo <b>",
            input="weather in Oslo",
            expect=(evaluator_of("contains", "snow"),),
            pass_rate=0.5,
        ),
    ]
    suite = suite_of(agent, **{"name": "weather", "cases": cases, "repeat": 2, **fields})
    return asyncio.run(run_suite(suite, store=store, concurrency=1))


@pytest.fixture
def kept(store, monkeypatch):
    """A store with one eval; its agent says a secret, which is in no file that is kept or made of it."""
    monkeypatch.setenv("TEA_API_KEY", SECRET)
    report = made(store)
    return store, report


def call(store, *words):
    done = CliRunner().invoke(evals, ["report", *map(str, words), "--store", str(store.root)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def test_the_report_of_a_store_is_that_of_the_eval(kept):
    store, report = kept
    assert stored_report(store).as_json() == report.as_json()
    code, out = call(store, "last", "--json")
    assert (code, json.loads(out)) == (0, report.as_json())
    assert "FAILED  oslo <b>  0/2 = 0% of 50%" in call(store)[1]
    assert "| ✅ paris | 2/2 | 100% |" in call(store, report.eval, "--markdown")[1]


def test_an_eval_is_found_by_id_by_its_beginning_and_by_its_suite(kept):
    store, first = kept
    second = made(store, name="other")
    assert stored_report(store).eval == second.eval
    for name in (first.eval, first.eval[:6], "weather"):
        assert stored_report(store, name).eval == first.eval
    with pytest.raises(ConfigError, match="no eval 'nothing'"):
        call(store, "nothing")
    with pytest.raises(ConfigError, match="no eval 'last'"):
        stored_report(RunStore(store.root / "empty"))


def test_the_page_has_a_row_for_each_case_and_each_cell_opens_the_journal_of_its_run(kept, tmp_path):
    store, report = kept
    code, out = call(store, "last", "--html", tmp_path / "out" / "report.html")
    assert (code, out.strip()) == (0, str(tmp_path / "out" / "report.html"))
    page = (tmp_path / "out" / "report.html").read_text()
    runs = [run for case in report.cases for run in case.runs]
    for case in report.cases:
        assert page.count(f'id="{row_id(case.name)}"') == 1
    assert "oslo &lt;b&gt;" in page
    assert "oslo <b>" not in page
    assert page.count(f'href="#{row_id("oslo <b>")}"') == 1
    links = re.findall(r'href="([^#"]+)"', page)
    assert links == [f"report.files/runs/{run.run}.html" for run in runs]
    for link, run in zip(links, runs, strict=True):
        assert f"{run.case.split()[0]}" in (tmp_path / "out" / link).read_text()
        assert "ModelRequested" in (tmp_path / "out" / link).read_text()


def test_the_page_has_the_history_of_each_case_from_earlier_evals(kept, tmp_path):
    store, _ = kept
    good = Case(name="oslo <b>", input="weather in Oslo", expect=(evaluator_of("contains", "sunny"),))
    made(store, cases=[good])
    grid = packed.grid_of(stored_report(store), store, pages="runs")
    [row] = grid.rows
    assert (row.outcome, [how for _, how in row.history]) == ("passed", ["0/2 = 0%"])
    write_report(stored_report(store), store, tmp_path / "report.html")
    assert "0/2 = 0%" in (tmp_path / "report.html").read_text()


def test_a_pass_rate_that_has_changed_is_named_with_the_eval_in_which_it_did(kept):
    """Two bad evals before, two good ones now; as an older case that asked for something else, they are left out."""
    store, _ = kept
    asked = {"name": "lyon", "input": "weather in Oslo", "repeat": 4}
    bad = Case(**asked, expect=(evaluator_of("contains", "snow"),))
    good = Case(**asked, expect=(evaluator_of("contains", "sunny"),))
    evals = [made(store, cases=[case]).eval for case in (bad, bad, good, good)]
    past = case_history(store, "weather")["lyon"]
    assert case_drift(past) == ""
    alike = [one._replace(fingerprint="") for one in past]
    assert case_drift(alike).startswith(f"changed in the eval {evals[2]}: 0% of 8 runs passed, then 100%")
    assert case_drift(alike[:2]) == ""


def test_the_report_tells_of_a_changed_pass_rate(kept, monkeypatch):
    store, _ = kept
    monkeypatch.setattr(history, "drift_of", lambda outcomes: Drift(at=0, before=1.0, after=0.5, p=0.01))
    for _ in range(3):
        last = made(store)
    out = call(store, "last")[1]
    assert "paris: changed in the eval" in out
    [row, *_] = packed.grid_of(stored_report(store, last.eval), store, pages="runs").rows
    assert any("50% (p = 0.01)" in note for note in row.notes)


def test_the_archive_has_pages_attachments_and_a_manifest_with_relative_paths_only(kept, tmp_path):
    store, report = kept
    path = pack_report(report, store, tmp_path / "report.zip")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        manifest = json.loads(archive.read("manifest.json"))
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        everything = b"".join(archive.read(name) for name in names)
    assert {one["path"]: one["size"] for one in manifest["files"]} == {
        name: size for name, size in sizes.items() if name != "manifest.json"
    }
    assert {one["kind"] for one in manifest["files"]} == {"index", "page", "attachment"}
    for name in names:
        assert not name.startswith("/")
        assert ".." not in Path(name).parts
    run = report.cases[0].runs[0].run
    assert {"index.html", f"runs/{run}.html", f"attachments/{run}/journal.jsonl"} <= set(names)
    assert any(name.startswith(f"attachments/{run}/journal.objects/") for name in names), names
    assert str(tmp_path).encode() not in everything
    assert pack_report(report, store, tmp_path / "again.zip").read_bytes() == path.read_bytes()


def test_no_secret_is_in_the_page_the_pages_of_runs_or_the_archive(kept, tmp_path):
    store, report = kept
    write_report(report, store, tmp_path / "out" / "report.html")
    pack_report(report, store, tmp_path / "report.zip")
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    contents += [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(contents) > 10
    assert not any(SECRET.encode() in one for one in contents)


def test_a_secret_that_a_store_has_kept_from_an_older_time_is_not_on_the_page(tmp_path, monkeypatch):
    monkeypatch.setenv("TEA_API_KEY", SECRET)
    cell = GridCell("1", "failed", f"said {SECRET}", "a.html")
    row = GridRow(f"case {SECRET}", "failed", (SECRET,), [cell], [f"it said {SECRET}"], [(SECRET, SECRET)])
    page = write_grid(tmp_path / "grid.html", RunGrid(SECRET, [SECRET], (SECRET,), [row])).read_text()
    assert "it said [redacted]" in page
    assert SECRET not in page


@pytest.mark.parametrize("write", [write_report, pack_report])
@pytest.mark.parametrize("failing", ["write_page", "write_grid"])
def test_a_disk_error_leaves_the_earlier_report_and_nothing_of_the_new_one(
    kept, tmp_path, monkeypatch, write, failing
):
    store, report = kept
    path = tmp_path / "out" / "report"
    path = path.with_suffix(".html" if write is write_report else ".zip")
    write(report, store, path)
    before = {one: one.read_bytes() for one in path.parent.rglob("*") if one.is_file()}
    real, calls = getattr(packed, failing), []

    def full(*words, **options):
        calls.append(words)
        if len(calls) == (3 if failing == "write_page" else 1):
            raise OSError(28, "No space left on device")
        return real(*words, **options)

    monkeypatch.setattr(packed, failing, full)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        write(report, store, path)
    assert {one: one.read_bytes() for one in path.parent.rglob("*") if one.is_file()} == before


@pytest.mark.parametrize("name", ["index.html", "manifest.json", "runs/thesis.html"])
def test_a_folder_of_somebody_else_is_not_replaced(kept, tmp_path, name):
    store, _ = kept
    theirs = tmp_path / "report.files" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("{}")
    with pytest.raises(FileError, match=f"is not replaced[\\s\\S]*{name}"):
        write_report(stored_report(store), store, tmp_path / "report.html")
    assert (theirs.read_text(), (tmp_path / "report.html").exists()) == ("{}", False)


def test_the_folder_of_an_earlier_report_is_replaced_unless_a_file_was_put_into_it(kept, tmp_path):
    store, first = kept
    write_report(first, store, tmp_path / "report.html")
    second = made(store)
    write_report(second, store, tmp_path / "report.html")
    runs = sorted(f"{run.run}.html" for case in second.cases for run in case.runs)
    assert sorted(path.name for path in (tmp_path / "report.files/runs").iterdir()) == runs
    (tmp_path / "report.files/mine.txt").write_text("mine")
    with pytest.raises(FileError, match=r"mine\.txt"):
        write_report(second, store, tmp_path / "report.html")
    assert (tmp_path / "report.files/mine.txt").read_text() == "mine"
