"""Event classes of the packages above the journal: found when a file has one of them, and not before."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import soundstage
from soundstage.journal import UnknownEvent, decode_record, encode_record, event_types
from soundstage.journal._homes import load_home
from soundstage.wings import Wing, wings

SOURCE = Path(soundstage.__file__).parent
JOURNAL = SOURCE / "journal"


def line(kind: str, **fields) -> bytes:
    event = {"type": kind, **fields}
    return json.dumps(
        {"position": 1, "time": 0.0, "run": "r", "source": "s", "cause": None, "event": event}
    ).encode()


def classes_of_events() -> dict[str, str]:
    """Class name -> module, of all event classes in the source outside the journal."""
    bases = {"Event"}
    found: dict[str, str] = {}
    files = [path for path in SOURCE.rglob("*.py") if JOURNAL not in path.parents]
    texts = [(path, path.read_text()) for path in files]
    trees = [(path, ast.parse(text)) for path, text in texts if "Event" in text]
    imports_event = [
        (path, tree)
        for path, tree in trees
        if any(
            isinstance(node, ast.ImportFrom)
            and node.module == "soundstage.journal"
            and any(name.name == "Event" for name in node.names)
            for node in tree.body
        )
    ]
    while True:
        before = len(found)
        for path, tree in imports_event:
            module = ".".join(["soundstage", *path.relative_to(SOURCE).with_suffix("").parts])
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and bases & {ast.unparse(base) for base in node.bases}:
                    found[node.name] = module
        bases |= found.keys()
        if len(found) == before:
            return found


def test_every_event_class_outside_of_the_core_is_in_a_module_that_a_wing_names():
    found = classes_of_events()
    named = {module for wing in wings() for module in wing.events}
    assert len(found) >= 25
    strange = {name: module for name, module in found.items() if module not in named}
    assert not strange, "name these modules as `events` of a wing, in soundstage/wings.py"


def test_a_reader_of_a_file_knows_the_entries_of_apps_and_the_events_of_discord_without_importing_them():
    code = """
import sys
from soundstage.journal import decode_record
assert not {"soundstage.agents", "soundstage.worlds"} & set(sys.modules)
for line in sys.stdin.buffer.read().splitlines():
    print(type(decode_record(line).event).__name__, end=" ")
    print("soundstage.discord" in sys.modules, "discord" in sys.modules)
"""
    lines = [
        line("Noted", text="x"),
        line("ChatReply", text="hi"),
        line("DiscordTyped", channel="#tea", sender="ann"),
        line("NobodyKnows", text="x"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"\n".join(lines), capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines() == [
        "Noted False False",
        "ChatReply False False",
        "DiscordTyped True False",
        "UnknownEvent True False",
    ]


def test_an_event_that_was_read_by_its_home_is_written_as_it_was():
    record = decode_record(line("DiscordTyped", channel="#tea", sender="ann"))
    assert json.loads(encode_record(record))["event"] == {
        "type": "DiscordTyped",
        "channel": "#tea",
        "sender": "ann",
    }


@pytest.fixture
def tea(monkeypatch, tmp_path):
    """A function that installs a wing `tea` whose events are in a module with the given text; gives its name."""

    def install(text: str | None) -> str:
        name = f"tea_{tmp_path.name.replace('-', '_')}"
        if text is not None:
            (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        wing = Wing(name="tea", events=(name,))
        monkeypatch.setattr("soundstage.journal._homes.wings", lambda: (*wings(), wing))
        monkeypatch.setattr("soundstage.journal._homes._tried", set())
        return name

    return install


def test_the_events_of_any_wing_are_read_and_its_module_is_imported_once_at_most(tea):
    name = tea("from soundstage.journal import Event\n\n\nclass TeaBrewed(Event):\n    cups: int\n")
    event = decode_record(line("TeaBrewed", cups=2)).event
    assert (type(event).__name__, type(event).__module__, event.cups) == ("TeaBrewed", name, 2)


def test_a_wing_whose_extra_is_not_installed_leaves_its_events_unknown(tea):
    tea("import a_library_that_nobody_has_installed\n")
    assert load_home("TeaPoured", event_types) is False
    assert isinstance(decode_record(line("TeaPoured")).event, UnknownEvent)


def test_a_module_of_events_that_is_not_there_is_a_mistake_of_the_wing(tea):
    name = tea(None)
    with pytest.raises(ModuleNotFoundError, match=name):
        load_home("TeaPoured", event_types)


def test_a_home_that_is_loaded_is_there_and_a_name_without_one_is_not():
    assert load_home("ChatReply", event_types) is True
    assert load_home("NobodyKnows", event_types) is False
