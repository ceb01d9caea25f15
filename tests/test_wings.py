"""Wings: records that are complete, names that are loaded late, packages that are wrong."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

from soundstage import wings as module
from soundstage.errors import EnvironmentProblem
from soundstage.mcp.server import Toolset
from soundstage.wings import Wing, load_target, wings


@pytest.fixture
def installed(monkeypatch):
    """A function that installs entry points `name -> value`, in the place of those of installed packages."""

    def install(**targets: str) -> None:
        points = [importlib.metadata.EntryPoint(name, value, module.GROUP) for name, value in targets.items()]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
        wings.cache_clear()

    yield install
    monkeypatch.undo()
    wings.cache_clear()


def test_what_the_records_name_is_there():
    for wing in wings():
        for name in (*wing.events, *wing.fixtures):
            __import__(name)
        named = (
            wing.commands,
            wing.scripts,
            wing.rules,
            wing.levels,
            wing.sources,
            wing.models,
            wing.readers,
        )
        for target in (target for names in named for target in names.values()):
            assert callable(load_target(target))
        assert wing.tools == "" or isinstance(load_target(wing.tools), Toolset)


def test_the_records_and_fixtures_are_imported_without_the_wings_themselves():
    code = """
import sys
from soundstage.wings import wings
for wing in wings():
    for name in wing.fixtures:
        __import__(name)
ours = {f"soundstage.{wing.name}." for wing in wings()}
print(*sorted(name for name in sys.modules if name.startswith(tuple(ours))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == sorted(name for wing in wings() for name in wing.fixtures)


LOADED = """
import atexit, sys
from soundstage import cli

def told():
    print(*{name.split(".")[1] for name in sys.modules if name.startswith("soundstage.")}, file=sys.stderr)

atexit.register(told)
cli.main()
"""


@pytest.mark.parametrize(
    ("command", "own"), [("schema", set()), ("runs", {"runs"}), ("diff", {"differences"})]
)
def test_a_command_loads_no_wing_but_its_own(command, own):
    asked = [sys.executable, "-c", LOADED, command, "--help"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert set(done.stderr.split()) & {wing.name for wing in wings()} == own


def test_a_wing_of_another_package_stands_beside_ours(installed):
    installed(tea="test_wings_tea:WING")
    sys.modules["test_wings_tea"] = type(sys)("test_wings_tea")
    sys.modules["test_wings_tea"].WING = Wing(name="tea", real_time=("teapot",))
    try:
        assert wings()[-1].real_time == ("teapot",)
        assert "nostr" in {wing.name for wing in wings()}
    finally:
        del sys.modules["test_wings_tea"]


@pytest.mark.parametrize(
    ("target", "seen"),
    [
        ("a_package_that_nobody_has:WING", "ModuleNotFoundError: No module named"),
        ("soundstage.wings:NOTHING", "AttributeError"),
        ("soundstage.wings:GROUP", "str: 'soundstage.wings'"),
    ],
)
def test_a_package_whose_record_cannot_be_had_is_named_with_what_to_do(installed, target, seen):
    installed(tea=target)
    with pytest.raises(EnvironmentProblem, match="the wing 'tea' of the package") as caught:
        wings()
    assert seen in caught.value.seen
    assert "pip uninstall" in caught.value.hint


@pytest.mark.parametrize(
    ("record", "twice"),
    [
        (Wing(name="nostr"), "the name 'nostr'"),
        (Wing(name="tea", commands={"brew": "a:b", "pour": "a:c"}), "the command 'brew'"),
        (Wing(name="tea", readers={"line": "a:b"}), "the files of runs with 'line'"),
        (Wing(name="tea", console="a:b"), "the console of programs"),
    ],
)
def test_two_wings_with_one_name_or_command_are_refused(record, twice):
    first = Wing(name="pot", commands={"brew": "x:y"})
    with pytest.raises(EnvironmentProblem, match=f"two wings have {twice}"):
        module._checked([*wings(), first, record])


def test_a_name_that_needs_a_library_which_is_not_installed_says_what_to_install(tmp_path, monkeypatch):
    package = tmp_path / "teahouse"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from soundstage.wings import lazy_window\n"
        "__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra='teahouse[pots]')\n"
    )
    (package / "__init__.pyi").write_text("from ._pot import Pot as Pot\nfrom ._cup import Cup as Cup\n")
    (package / "_pot.py").write_text("import a_library_that_nobody_has_installed\n")
    (package / "_cup.py").write_text("class Cup: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    import teahouse

    assert teahouse.Cup.__name__ == "Cup"
    assert sorted(teahouse.__all__) == ["Cup", "Pot"]
    with pytest.raises(
        EnvironmentProblem, match=r"needs the module a_library.*\n.*pip install 'teahouse\[pots\]'"
    ):
        _ = teahouse.Pot
    with pytest.raises(AttributeError, match="no attribute 'Plate'"):
        _ = teahouse.Plate
