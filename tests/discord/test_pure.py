"""The parts of the virtual Discord that need no connection."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import VirtualClock
from soundstage.discord import Channel, DiscordMessage
from soundstage.discord._beginning import first_state
from soundstage.discord._ids import BEGINNING, Snowflakes, snowflake
from soundstage.discord._intents import INTENTS, wants
from soundstage.discord._multipart import parse_body
from soundstage.discord._permissions import BITS, EVERYTHING, OF_BOT, USUAL, permissions
from soundstage.discord._problems import RestRefused
from soundstage.discord._reactions import emoji_key
from soundstage.discord._records import ChannelType, Member, Overwrite, Role


def test_snowflakes_are_in_order_hold_their_time_and_repeat_in_every_run():
    def draw():
        clock = VirtualClock()
        source = Snowflakes(clock)
        fixed = [source.fixed(), source.fixed()]
        drawn = [source.draw(), source.draw()]
        clock.advance(1.5)
        return [*fixed, *drawn, source.draw()]

    ids = draw()
    assert ids == draw() == sorted(set(ids))
    assert ids[-1] >> 22 == (
        BEGINNING + timedelta(seconds=1.5) - datetime(2015, 1, 1, tzinfo=UTC)
    ) // timedelta(milliseconds=1)


def test_snowflakes_stay_in_order_when_the_clock_steps_back():
    clock = VirtualClock()
    source = Snowflakes(clock)
    clock.advance(10)
    before = source.draw()
    clock._now = 0
    assert source.draw() == before + 1


def test_the_ids_of_what_is_there_from_the_beginning_do_not_depend_on_the_clock():
    def ids(clock):
        state = first_state(Snowflakes(clock), guild="g", bot="b", channels=["one", "two"], users=["ann"])
        return list(state.channels), list(state.users), list(state.roles)

    late = VirtualClock()
    late.advance(10_000)
    assert ids(VirtualClock()) == ids(late)


EVERYONE = Role(id=1, name="@everyone", permissions=USUAL, is_everyone=True)
EXTRA = Role(id=2, name="extra", permissions=BITS["MANAGE_MESSAGES"])
ADMIN = Role(id=3, name="admin", permissions=BITS["ADMINISTRATOR"])
MEMBER = Member(user_id=9, joined_at=BEGINNING, roles=(2,))
SEND = BITS["SEND_MESSAGES"]


def channel(*overwrites):
    return Channel(id=5, type=ChannelType.TEXT, created_at=BEGINNING, name="c", overwrites=overwrites)


@pytest.mark.parametrize(
    ("overwrites", "may"),
    [
        ([], True),
        ([Overwrite(id=1, kind=0, deny=SEND)], False),
        ([Overwrite(id=1, kind=0, deny=SEND), Overwrite(id=2, kind=0, allow=SEND)], True),
        ([Overwrite(id=9, kind=1, deny=SEND), Overwrite(id=2, kind=0, allow=SEND)], False),
        ([Overwrite(id=2, kind=0, deny=SEND), Overwrite(id=9, kind=1, allow=SEND)], True),
        ([Overwrite(id=77, kind=0, deny=SEND)], True),
    ],
)
def test_overwrites_are_applied_from_everyone_over_roles_to_the_member(overwrites, may):
    assert bool(permissions(MEMBER, (EVERYONE, EXTRA), channel(*overwrites), owner_id=0) & SEND) is may


def test_owners_and_administrators_may_do_everything():
    closed = channel(Overwrite(id=1, kind=0, deny=EVERYTHING))
    assert permissions(MEMBER, (EVERYONE,), closed, owner_id=9) == EVERYTHING
    assert permissions(MEMBER, (EVERYONE, ADMIN), closed, owner_id=0) == EVERYTHING
    assert permissions(MEMBER, (EVERYONE, EXTRA), None, owner_id=0) == USUAL | BITS["MANAGE_MESSAGES"]


def test_permissions_have_discords_numbers():
    assert (BITS["VIEW_CHANNEL"], BITS["SEND_MESSAGES_IN_THREADS"]) == (1 << 10, 1 << 38)
    assert BITS["MODERATE_MEMBERS"] == 1 << 40
    assert OF_BOT & BITS["ADMINISTRATOR"] == 0


def test_an_event_is_wanted_by_the_intent_of_its_place():
    guild, private = INTENTS["GUILD_MESSAGES"], INTENTS["DIRECT_MESSAGES"]
    assert wants(guild, "MESSAGE_CREATE", private=False)
    assert not wants(guild, "MESSAGE_CREATE", private=True)
    assert wants(private, "MESSAGE_CREATE", private=True)
    assert wants(0, "INTERACTION_CREATE", private=False)


@given(
    contents=st.lists(st.binary(max_size=200), max_size=4),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
)
def test_a_form_with_files_arrives_as_it_was_sent(contents, text):
    files = [(f"files[{place}]", (f"f{place}.bin", content)) for place, content in enumerate(contents)]
    boundary = {"content-type": f"multipart/form-data; boundary={secrets.token_hex(16)}"}
    payload = ("payload_json", (None, httpx.Response(200, json={"content": text}).content))
    request = httpx.Request("POST", "http://x", files=[payload, *files], headers=boundary)
    body = parse_body(request.headers["content-type"], request.read())
    assert body.json == {"content": text}
    assert [(name, upload.filename, upload.content) for name, upload in body.files.items()] == [
        (name, filename, content) for name, (filename, content) in files
    ]


@given(st.binary(max_size=300))
def test_any_bytes_are_a_body_or_discords_400(data):
    for kind in (
        "application/json",
        "multipart/form-data; boundary=b",
        "multipart/form-data",
        "",
        "nonsense;;=",
    ):
        try:
            parse_body(kind, data)
        except RestRefused as refused:
            assert refused.problem.status == 400


def test_a_form_without_json_is_taken_field_by_field():
    data = b'--b\r\nContent-Disposition: form-data; name="content"\r\n\r\nhello\r\n--b--\r\n'
    assert parse_body("multipart/form-data; boundary=b", data).json == {"content": "hello"}


@pytest.mark.parametrize("written", ["wave:12", ":wave:12", "<:wave:12>", "<a:wave:12>", "a:wave:12"])
def test_a_custom_emoji_is_one_however_it_is_written(written):
    assert emoji_key(written) == "wave:12"
    assert emoji_key("👍") == "👍"


def test_the_text_of_a_message_is_what_a_reader_sees():
    message = DiscordMessage(
        id=1,
        channel_id=2,
        author_id=3,
        sent_at=BEGINNING,
        content="hello",
        embeds=({"author": {"name": "A"}, "fields": [{"name": "n", "value": "v"}]},),
        components=(
            {"type": 17, "components": [{"type": 10, "content": "shown"}, {"type": 2, "label": "not text"}]},
        ),
    )
    assert message.text == "hello\nA\nn: v\nshown"


def test_a_snowflake_of_a_moment_is_the_lowest_one():
    assert snowflake(datetime(2015, 1, 1, 0, 0, 1, tzinfo=UTC)) == 1000 << 22
