"""The tables of request fields have every field that the official SDKs may send, at all depths, and no other."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from openai.types.responses import ResponseItem, ResponseOutputItem

from soundstage.wire import _fields
from soundstage.wire._field_tables import RequestFields
from support.sdk_fields import OFFICIAL, Sent, gemini_source, records_of, set_on, walk

DEPTH = {"embeddings": 1, "chat": 40, "gemini": 80, "responses": 100, "anthropic": 150}  # places, at least
ANSWERED = {  # what the official SDKs make of answers, which clients send back
    "responses": (_fields.RESPONSES, "input", ResponseItem),
    "responses, items of an answer": (_fields.RESPONSES, "input", ResponseOutputItem),
}


def _all_fields(fields: RequestFields, seen: dict[int, RequestFields]) -> dict[int, RequestFields]:
    if id(fields) not in seen:
        seen[id(fields)] = fields
        for below in (*fields.inner.values(), *fields.kinds.values()):
            _all_fields(below, seen)
    return seen


def _answered(name: str) -> list[Sent]:
    """A request whose input are answers."""
    kinds = [kind for _, _, answer in ANSWERED.values() for kind in records_of(answer)]
    return [Sent(frozenset(), {"input": tuple(kinds)})] if name == "responses" else []


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


@pytest.mark.parametrize("name", OFFICIAL)
def test_every_field_of_the_official_sdk_is_in_our_table_at_all_depths(name):
    table, sent = OFFICIAL[name]
    places, missing = walk(table.root, sent)
    assert sorted(missing) == [], "new in the SDK: serve it, refuse it, or say why it has no effect"
    assert len(places) >= DEPTH[name]  # it went down


@pytest.mark.parametrize("name", OFFICIAL)
def test_every_field_of_our_table_is_the_official_sdks_or_says_that_it_is_not(name):
    table, sent = OFFICIAL[name]
    places, _ = walk(table.root, [*sent, *_answered(name)])
    of_sdk: dict[int, set[str]] = {}
    paths: dict[int, str] = {}
    for place in places:
        of_sdk.setdefault(id(place.table), set()).update(place.sent.fields)
        paths.setdefault(id(place.table), place.path)
    wrong = []
    for number, fields in _all_fields(table.root, {}).items():
        if fields.kinds or not fields.known:
            wrong += [
                f"type {kind}, with {sorted(one.known)}"
                for kind, one in fields.kinds.items()
                if id(one) not in of_sdk and kind not in (fields.beyond | {"-"})
            ]
        elif number in of_sdk:
            known = {_camel(one) for one in fields.known} if name == "gemini" else fields.known
            wrong += [f"{paths[number]}.{one}" for one in known - of_sdk[number] - fields.beyond]
            wrong += [f"+{paths[number]}.{one}" for one in fields.beyond & of_sdk[number]]
    assert sorted(wrong) == [], "not in the SDK: take it out, or mark it with +; or + is wrong"


@pytest.mark.parametrize("name", ANSWERED)
def test_what_the_official_sdk_makes_of_an_answer_can_be_sent_back(name):
    table, field, kind = ANSWERED[name]
    _, missing = walk(table.root, [Sent(frozenset(), {field: tuple(records_of(kind))})])
    assert sorted(missing) == []


def test_every_field_that_geminis_sdk_sets_is_in_our_table():
    config = gemini_source("_GenerateContentConfig_to_mldev")
    top = set_on("to_object", gemini_source("_GenerateContentParameters_to_mldev"))
    root = _fields.GEMINI.root
    official = set_on("parent_object", config) | {name for name in top if name[0] != "_"}
    assert len(official) >= 5
    assert official - root.known == set()
    inside = set_on("to_object", config)
    assert len(inside) >= 5
    assert inside - root.inner["generationConfig"].known == set()


@pytest.mark.parametrize("name", OFFICIAL)
def test_no_field_is_in_two_rows_and_every_reason_is_given_in_words(name):
    written = OFFICIAL[name][0].written
    rows = {mark.mark for kind in written.kinds.values() for mark in kind.marks} - {"served", "refused"}
    assert rows == set(written.why)
    for name_of_kind, kind in written.kinds.items():
        names = [mark.name for mark in kind.marks if mark.name != "..."]
        assert len(names) == len(set(names)), name_of_kind
    for path in written.instead:
        name_of_kind, _, field = path.partition(".")
        assert [mark.mark for mark in written.kinds[name_of_kind].marks if mark.name == field] == ["refused"]


def test_the_page_of_the_documents_is_that_of_the_tables():
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "fields_page.py"))
    assert tool["PAGE"].read_text("utf-8") == tool["page"](), "run: .venv/bin/python tools/fields_page.py"
