"""Odd requests to the REST API of the virtual Discord: its refusal, never a 500, and a journal that reads back."""

from __future__ import annotations

import asyncio
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import SystemClock
from soundstage.discord import Discord
from soundstage.discord._rest import ROUTES
from soundstage.journal import Journal
from soundstage.net import HttpRequest
from support.odd import SLOWEST, answer, assert_readable, no_longer_than, posted

EMBED = {"title": "t", "description": "d", "fields": [{"name": "n", "value": "v"}], "image": {"url": "x"}}
BUTTON = {"type": 1, "components": [{"type": 2, "style": 1, "label": "b", "custom_id": "c"}]}
OPTION = {
    "type": 3,
    "name": "text",
    "description": "d",
    "required": True,
    "choices": [{"name": "a", "value": "b"}],
}
MESSAGE = {
    "content": "hello",
    "embeds": [EMBED],
    "components": [BUTTON],
    "flags": 64,
    "nonce": "1",
    "tts": False,
    "allowed_mentions": {"parse": ["users"], "replied_user": False},
    "message_reference": {"message_id": "1", "channel_id": "1", "fail_if_not_exists": False},
    "attachments": [{"id": 0, "filename": "a.txt", "description": "d"}],
}
COMMAND = {
    "name": "ask",
    "description": "d",
    "type": 1,
    "options": [OPTION],
    "default_member_permissions": "8",
}
BODIES = [
    MESSAGE,
    COMMAND,
    [COMMAND],
    {"type": 4, "data": MESSAGE},
    {"type": 9, "data": {"title": "t", "custom_id": "c", "components": [BUTTON]}},
    {"type": 8, "data": {"choices": [{"name": "a", "value": "b"}]}},
    {
        "name": "thread",
        "auto_archive_duration": 60,
        "type": 11,
        "message": MESSAGE,
        "archived": True,
        "locked": False,
    },
    {"messages": ["1", "2"]},
    {"recipient_id": "1"},
    {"nick": "n", "roles": ["1"], "mute": True, "name": "x", "topic": "t", "permission_overwrites": []},
]
FORM = (
    b'--x\r\ncontent-disposition: form-data; name="payload_json"\r\n\r\n%s\r\n--x\r\n'
    b'content-disposition: form-data; name="files[0]"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n'
)


def bodies() -> st.SearchStrategy[bytes]:
    return st.one_of(
        *(posted(body) for body in BODIES), *(st.just(json.dumps(body).encode()) for body in BODIES)
    )


def ids_in(world: Discord) -> dict[str, list[str]]:
    """Ids that exist, by the names that templates have for them, and what is none."""
    state = world._platform.state
    odd = ["0", "1", "x", "-1", "²", "9" * 30, "9" * 5000, "%zz", "@original", "null", " "]
    messages = [str(message.id) for channel in state.channels for message in state.history(channel)]
    return {
        "channel_id": [*map(str, state.channels), *odd],
        "thread_id": [*map(str, state.channels), *odd],
        "message_id": [*messages, *odd],
        "user_id": [*map(str, state.users), *odd],
        "guild_id": [str(state.guild.id), *odd],
        "application_id": [str(state.bot.id), *odd],
        "emoji": ["\U0001f642", "name:1", "", "%", "a" * 300, *odd],
        "": odd,
    }


@given(data=st.data())
def test_no_odd_request_makes_a_500_or_a_journal_that_cannot_be_read(data):
    async def main():
        journal = Journal(clock=SystemClock())
        world = Discord(journal, users=["ann"])
        channel = world.channel("general").id
        for _ in range(3):  # earlier requests make what later ones change
            await ask(
                world,
                HttpRequest("POST", f"/api/v10/channels/{channel}/messages", "", {}, b'{"content":"x"}'),
            )
        for _ in range(data.draw(st.integers(1, 4))):
            known = ids_in(world)
            route = data.draw(st.sampled_from(ROUTES))
            path = re.sub(
                r"\{(\w+)\}",
                lambda name, known=known: data.draw(st.sampled_from(known.get(name[1], known[""]))),
                route.template,
            )
            body = data.draw(bodies())
            headers = {"content-type": "application/json"}
            if data.draw(st.integers(0, 4)) == 0:
                kind = data.draw(st.sampled_from(["x", '"x"', "", "\xff", "x\r\ny", "=?utf-8?q?x?="]))
                headers, body = (
                    {"content-type": f"multipart/form-data; boundary={kind}"},
                    FORM.replace(b"%s", body),
                )
            query = data.draw(
                st.sampled_from(
                    [
                        "",
                        "limit=²",
                        "limit=0",
                        "after=x",
                        "before=" + "9" * 5000,
                        "around=1&limit=5",
                        "with_response=1",
                        "=",
                    ]
                )
            )
            await ask(world, HttpRequest(route.method, "/api/v10" + path, query, headers, body))
        assert_readable(journal)

    async def ask(world, request):
        headers = {"authorization": f"Bot {world.token}", **request.headers}
        status, answered = await answer(world._api.handle, request._replace(headers=headers))
        assert status < 500, answered

    with no_longer_than(SLOWEST):
        asyncio.run(main())
