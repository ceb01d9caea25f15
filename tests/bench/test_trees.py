"""Two trees in pairs: what is printed, and whose code runs."""

import importlib
import re

import pytest

from _load import BenchError
from pairs import SERVED, WORKS, Work, _side, _worked, compared
from rows_wire import _ASKED


def constant(seconds):
    return lambda: seconds


@pytest.mark.parametrize(
    ("ours", "said"), [(3e-6, "1.50 SLOWER"), (2.1e-6, "1.05         2.1 : 2.0 us"), (1e-6, "0.50")]
)
def test_a_line_says_how_much_slower_this_tree_is_and_warns_from_a_tenth_on(ours, said):
    assert said in compared("it", {"ours": constant(ours), "theirs": constant(2e-6)})


def test_what_an_older_commit_does_not_have_is_said_and_ends_nothing():
    def missing():
        raise BenchError("no module named x")

    assert "not measured: no module named x" in compared("it", {"ours": constant(1.0), "theirs": missing})


def test_a_side_runs_the_code_of_its_folder_and_says_what_it_cannot_run(tmp_path):
    for folder, name, text in (
        ("src", "soundstage", ""),
        ("bench", "rows_call", "import soundstage\nSECONDS = 7.0\n"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.py").write_text(text)
    with _side(tmp_path) as side:
        assert _worked(side, Work("rows_call.SECONDS")) == 7.0
        with pytest.raises(BenchError, match="ModuleNotFoundError: No module named 'rows_nowhere'"):
            _worked(side, Work("rows_nowhere.SECONDS"))


def test_all_that_is_compared_is_there_in_this_tree():
    used = {name for work in WORKS.values() for name in re.findall(r"((?:rows)?_\w+)\.(\w+)", work.seconds)}
    missing = [
        f"{module}.{name}" for module, name in used if not hasattr(importlib.import_module(module), name)
    ]
    assert not missing
    assert set(SERVED.values()) <= set(_ASKED)
