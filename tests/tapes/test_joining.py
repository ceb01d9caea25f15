"""Recordings of several runs on one tape: as if all had worked in the same folders."""

from __future__ import annotations

from pathlib import Path

from soundstage.clock import run
from soundstage.messages import ModelRequest, user
from soundstage.models import PlacedModel, Script, ScriptedModel, complete
from soundstage.tapes import Playback, RunRecordingModel, Surroundings, TapedModel, join_tapes

FOLDERS = ("/srv/one/work", "/srv/two/work")


def recorded(folder: str) -> RunRecordingModel:
    """A run in a folder: the request and the reply name it, and a file that is called after it."""
    script = Script()
    script.queue(f"written to {folder}/a.txt")
    model = RunRecordingModel(ScriptedModel(script))
    model.work_in(Path(folder), Path("/srv/home"))
    run(complete(model, asked(folder)))
    return model


def asked(folder: str) -> ModelRequest:
    return ModelRequest(model="m", messages=(user(f"in {folder}, notes {folder.replace('/', '-')}.md"),))


def test_runs_in_several_folders_become_one_tape_that_answers_each_of_them_in_a_third():
    models = [recorded(folder) for folder in FOLDERS]
    assert isinstance(models[0], PlacedModel)
    tape = join_tapes((one.tape for one in models), name="joined")
    assert [one.number for one in tape.exchanges] == [1, 2]
    assert {one.request.last_user_text for one in tape.exchanges} == {
        "in /soundstage/cwd, notes -soundstage-cwd.md"
    }
    assert {one.response.text for one in tape.exchanges} == {"written to /soundstage/cwd/a.txt"}
    replayed = TapedModel(tape, playback=Playback(tape, here=Surroundings(cwd="/opt/three/work")))
    for _ in FOLDERS:
        assert run(complete(replayed, asked("/opt/three/work"))).text == "written to /opt/three/work/a.txt"
    assert replayed.unplayed == ()
