"""The gateway's protocol, spoken by hand: a plain WebSocket client and no library in between."""

from __future__ import annotations

import asyncio
import json
import zlib

import httpx
import pytest
import zstandard
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from soundstage.discord import Discord, DiscordGatewayChanged
from soundstage.errors import ScriptError
from soundstage.journal import Journal, event

ALL = (1 << 17) - 1 | 1 << 20 | 1 << 21 | 1 << 24 | 1 << 25
UNPRIVILEGED = 1 << 0 | 1 << 9 | 1 << 12


class Client:
    """Speaks JSON over one connection."""

    def __init__(self, socket, *, query=""):
        self.socket = socket
        self.inflate = zlib.decompressobj() if "zlib-stream" in query else None
        if "zstd-stream" in query:
            self.inflate = zstandard.ZstdDecompressor().decompressobj()
        self.seq = None

    async def receive(self):
        data = await self.socket.recv()
        if self.inflate is not None:
            assert isinstance(data, bytes)
            data = self.inflate.decompress(data)
        payload = json.loads(data)
        self.seq = payload["s"] or self.seq
        return payload

    async def send(self, op, data=None):
        await self.socket.send(json.dumps({"op": op, "d": data}))

    async def until(self, name):
        """Read up to an event; returns its data."""
        while (payload := await self.receive())["t"] != name:
            pass
        return payload["d"]

    async def identify(self, token, intents=ALL, **more):
        await self.send(2, {"token": token, "intents": intents, "properties": {}, **more})

    async def closed(self):
        """Read to the end; returns the code."""
        with pytest.raises(ConnectionClosed) as caught:
            while True:
                await self.receive()
        return caught.value.rcvd and caught.value.rcvd.code


def gateway(on_discord, body, *, query="?v=10&encoding=json", **options):
    """Run `body(client, world)` on a connection that has had its HELLO."""

    async def run(world):
        async with connect(world.gateway_url + query) as socket:
            client = Client(socket, query=query)
            hello = await client.receive()
            assert hello["op"] == 10
            assert hello["d"]["heartbeat_interval"] == int(options.get("heartbeat", 41.25) * 1000)
            return await body(client, world)

    return on_discord(None, run, **options)


@pytest.mark.parametrize(
    "query",
    [
        "?v=10&encoding=json",
        "?v=10&encoding=json&compress=zlib-stream",
        "?v=10&compress=zstd-stream",
        "/?v=9",
        "",
    ],
)
def test_a_session_begins_with_hello_identify_ready_and_the_guild(on_discord, query):
    async def body(client, world):
        await client.identify(world.token)
        ready, guild = await client.receive(), await client.receive()
        return ready, guild, world

    ready, guild, world = gateway(on_discord, body, query=query)
    assert (ready["t"], ready["s"], guild["t"], guild["s"]) == ("READY", 1, "GUILD_CREATE", 2)
    assert ready["d"]["user"]["username"] == "bot"
    assert ready["d"]["guilds"] == [{"id": str(world.guild.id), "unavailable": True}]
    assert ready["d"]["resume_gateway_url"].startswith("ws://127.0.0.1:")
    assert [channel["name"] for channel in guild["d"]["channels"]] == ["general"]
    assert {member["user"]["username"] for member in guild["d"]["members"]} == {"owner", "bot"}


def test_heartbeats_are_acknowledged_before_and_after_identify(on_discord):
    async def body(client, world):
        await client.send(1, None)
        before = await client.receive()
        await client.identify(world.token)
        await client.until("GUILD_CREATE")
        await client.send(1, client.seq)
        return before["op"], (await client.receive())["op"]

    assert gateway(on_discord, body) == (11, 11)


async def identified(client, world):
    await client.identify(world.token)
    await client.until("GUILD_CREATE")


WRONG = [
    ("an unknown op code", 4001, lambda c, w: c.send(42)),
    ("an op code that only Discord sends", 4001, lambda c, w: c.send(0)),
    ("no JSON", 4002, lambda c, w: c.socket.send("nonsense")),
    ("JSON that is no payload", 4002, lambda c, w: c.socket.send("[1, 2]")),
    ("a payload without op", 4002, lambda c, w: c.socket.send('{"d": 1}')),
    ("a payload that is too long", 4002, lambda c, w: c.send(1, "x" * 5000)),
    ("identify without a token", 4002, lambda c, w: c.send(2, {"intents": 1})),
    ("something before identify", 4003, lambda c, w: c.send(3, {"status": "online"})),
    ("a wrong token", 4004, lambda c, w: c.identify("wrong")),
    ("a wrong token to resume", 4004, lambda c, w: c.send(6, {"token": "no", "session_id": "x", "seq": 1})),
    ("an invalid shard", 4010, lambda c, w: c.identify(w.token, shard=[2, 2])),
    ("no intents", 4013, lambda c, w: c.identify(w.token, None)),
    ("an unknown intent", 4013, lambda c, w: c.identify(w.token, 1 << 30)),
]


@pytest.mark.parametrize(("what", "code", "send"), WRONG, ids=[what for what, _, _ in WRONG])
def test_nonsense_closes_the_connection_with_discords_code_and_is_journaled(on_discord, what, code, send):
    async def body(client, world):
        await send(client, world)
        return await client.closed(), world.journal.events(DiscordGatewayChanged)[-1]

    closed, noted = gateway(on_discord, body)
    assert closed == code
    assert (noted.change, noted.code, noted.by) == ("closed", code, "discord")


@pytest.mark.parametrize(
    ("code", "send"),
    [
        (4001, lambda c, w: c.send(42)),
        (4005, lambda c, w: c.identify(w.token)),
        (4005, lambda c, w: c.send(6, {"token": w.token, "session_id": "x", "seq": 1})),
        (4002, lambda c, w: c.send(8, {"query": ""})),
    ],
)
def test_a_session_does_not_protect_from_nonsense(on_discord, code, send):
    async def body(client, world):
        await identified(client, world)
        await send(client, world)
        return await client.closed()

    assert gateway(on_discord, body) == code


@pytest.mark.parametrize("query", ["?v=6", "?v=nonsense"])
def test_an_api_version_that_is_not_there_is_4012(on_discord, query):
    assert gateway(on_discord, lambda client, _: client.closed(), query=query) == 4012


@pytest.mark.parametrize("query", ["?encoding=etf", "?compress=brotli"])
def test_a_transport_that_is_not_spoken_is_refused_in_words(on_discord, query):
    async def body(world):
        with pytest.raises(InvalidStatus) as caught:
            await connect(world.gateway_url + query)
        return caught.value.response

    response = on_discord(None, body)
    assert response.status_code == 400
    assert b"this gateway speaks" in response.body


def test_a_privileged_intent_that_is_not_allowed_is_4014_and_is_named(on_discord):
    async def body(client, world):
        await client.identify(world.token)
        return await client.closed(), world.journal.events(DiscordGatewayChanged)[-1].reason

    code, reason = gateway(on_discord, body, privileged_intents=["GUILD_MEMBERS", "GUILD_PRESENCES"])
    assert code == 4014
    assert reason == "Disallowed intent(s). (MESSAGE_CONTENT)"


def test_a_client_that_does_not_beat_in_time_is_closed_with_4009_and_cannot_resume(on_discord):
    async def body(client, world):
        await client.identify(world.token)
        ready = await client.until("READY")
        code = await client.closed()
        async with connect(world.gateway_url) as socket:
            again = Client(socket)
            await again.receive()
            await again.send(6, {"token": world.token, "session_id": ready["session_id"], "seq": 2})
            return code, await again.receive()

    code, answer = gateway(on_discord, body, heartbeat=0.5)
    assert code == 4009
    assert (answer["op"], answer["d"]) == (9, False)


def test_more_than_120_payloads_a_minute_are_4008(on_discord):
    async def body(client, world):
        await identified(client, world)
        for _ in range(120):
            await client.send(3, {"status": "idle"})
        return await client.closed()

    assert gateway(on_discord, body) == 4008


async def resumed(world, session_id, seq):
    """Resume as a client: the replayed events, and the op code of anything else."""
    async with connect(world.gateway_url) as socket:
        client = Client(socket)
        await client.receive()
        await client.send(6, {"token": world.token, "session_id": session_id, "seq": seq})
        got = []
        try:
            while not got or got[-1] not in ("RESUMED", 9):
                payload = await client.receive()
                got.append(payload["t"] or payload["op"])
        except ConnectionClosed as closed:
            got.append(closed.rcvd.code)
        return got


def test_a_client_that_resumes_gets_what_it_missed_in_order(on_discord):
    async def body(client, world):
        await client.identify(world.token)
        ready = await client.until("READY")
        await client.until("GUILD_CREATE")
        world.drop_connections()
        assert await client.closed() is None
        ann = world.user("ann")
        await ann.says("one")
        await ann.says("two")
        return await resumed(world, ready["session_id"], client.seq), world.journal

    events, journal = gateway(on_discord, body)
    assert events == ["GUILD_MEMBER_ADD", "MESSAGE_CREATE", "MESSAGE_CREATE", "RESUMED"]
    changes = [(noted.change, noted.by) for noted in journal.events(DiscordGatewayChanged)]
    assert ("cut", "discord") in changes
    assert journal.events(DiscordGatewayChanged)[-2].detail == {"replayed": 3}


@pytest.mark.parametrize("code", [1000, 1001])
def test_a_session_that_the_client_ended_cannot_be_resumed(on_discord, code):
    async def body(client, world):
        await client.identify(world.token)
        ready = await client.until("READY")
        await client.socket.close(code)
        await world.journal.wait_for(event(DiscordGatewayChanged, change="closed", code=code), within=5)
        return await resumed(world, ready["session_id"], 1)

    assert gateway(on_discord, body) == [9]


def test_resuming_with_a_number_that_was_never_sent_is_4007(on_discord):
    async def body(client, world):
        await client.identify(world.token)
        ready = await client.until("READY")
        world.drop_connections()
        return await resumed(world, ready["session_id"], 99), await resumed(world, ready["session_id"], 1)

    assert gateway(on_discord, body) == ([4007], [9])


def test_after_an_invalid_session_a_client_may_identify_on_the_same_connection(on_discord):
    async def body(client, world):
        await identified(client, world)
        world.invalidate_session()
        invalid = await client.receive()
        await client.identify(world.token)
        ready = await client.until("READY")
        return (invalid["op"], invalid["d"]), ready["user"]["username"]

    assert gateway(on_discord, body) == ((9, False), "bot")


def test_a_test_can_close_connections_with_a_code_of_its_choice(on_discord):
    async def body(client, world):
        await identified(client, world)
        world.drop_connections(code=4000)
        return await client.closed()

    assert gateway(on_discord, body) == 4000


def test_only_events_that_were_asked_for_are_sent(on_discord):
    async def body(client, world):
        await client.identify(world.token, UNPRIVILEGED)
        await client.until("GUILD_CREATE")
        ann = world.user("ann")  # would be GUILD_MEMBER_ADD
        await ann.types()  # would be TYPING_START
        said = await ann.says("hello")
        await ann.reacts("👍", said)  # would be MESSAGE_REACTION_ADD
        await ann.deletes(said)
        return [await client.receive() for _ in range(2)]

    created, deleted = gateway(on_discord, body)
    assert (created["t"], deleted["t"]) == ("MESSAGE_CREATE", "MESSAGE_DELETE")


def test_without_the_intent_for_content_it_is_left_out_unless_the_bot_is_meant(on_discord):
    async def body(client, world):
        await client.identify(world.token, UNPRIVILEGED)
        await client.until("GUILD_CREATE")
        ann = world.user("ann")
        await ann.says("secret")
        await ann.says(f"{world.bot.mention} hello")
        await ann.says_privately("psst")
        return [(await client.until("MESSAGE_CREATE"))["content"] for _ in range(3)], world.bot.mention

    contents, mention = gateway(on_discord, body)
    assert contents == ["", f"{mention} hello", "psst"]


def test_members_can_be_asked_for_by_name_by_id_and_all_at_once(on_discord):
    async def body(client, world):
        await identified(client, world)
        ann, guild = world.user("ann"), str(world.guild.id)
        found = []
        for asked in (
            {"query": "an", "limit": 5},
            {"user_ids": [str(ann.id), "1"], "limit": 0},
            {"query": "", "limit": 0, "nonce": "n"},
        ):
            await client.send(8, {"guild_id": guild, **asked})
            chunk = await client.until("GUILD_MEMBERS_CHUNK")
            found.append([member["user"]["username"] for member in chunk["members"]])
        return found, chunk["nonce"]

    found, nonce = gateway(on_discord, body)
    assert (found, nonce) == ([["ann"], ["ann"], ["owner", "bot", "ann"]], "n")


def test_a_sharded_bot_gets_the_guild_on_one_shard_and_private_messages_on_the_first(on_discord):
    async def body(client, world):
        number = (world.guild.id >> 22) % 2
        async with connect(world.gateway_url) as socket:
            other = Client(socket)
            await other.receive()
            clients = {0: client, 1: other}
            for shard, each in clients.items():
                await each.identify(world.token, shard=[shard, 2])
                await each.until("READY")
            ann = world.user("ann")
            await ann.says("to the guild")
            await ann.says_privately("to the bot")
            guild = await clients[number].until("MESSAGE_CREATE")
            private = await clients[0].until("MESSAGE_CREATE")
            return guild["content"], private["content"]

    assert gateway(on_discord, body) == ("to the guild", "to the bot")


def test_an_intent_that_is_not_privileged_is_a_mistake_of_the_test():
    with pytest.raises(ScriptError, match="'GUILDS' is not a privileged intent"):
        Discord(Journal(), privileged_intents=["GUILDS"])


async def posted(world, text):
    """Post a message as the bot."""
    path = f"{world.api_url}/channels/{world.channel('general').id}/messages"
    headers = {"authorization": f"Bot {world.token}"}
    async with httpx.AsyncClient(headers=headers) as http:
        await http.post(path, json={"content": text})


def test_a_user_acts_only_when_the_bot_has_read_what_it_was_answered(on_discord):
    async def body(client, world):
        ann = world.user("ann")
        await identified(client, world)
        await posted(world, "choose")
        await world.expect("choose")
        client.socket.transport.pause_reading()  # the bot is busy, and reads nothing
        acting = asyncio.create_task(ann.says("yes"))
        for _ in range(20):
            await asyncio.sleep(0)  # its turns
        said_too_early = len(world.messages("general")) > 1
        client.socket.transport.resume_reading()
        await acting
        read = [(await client.until("MESSAGE_CREATE"))["content"] for _ in range(2)]
        return said_too_early, read

    assert gateway(on_discord, body) == (False, ["choose", "yes"])


def test_a_bot_that_does_not_react_is_not_waited_for_for_long(on_discord, monkeypatch):
    monkeypatch.setattr("soundstage.discord._scene.MOMENT", 0.01)

    async def body(client, world):
        await identified(client, world)
        await posted(world, "choose")
        await world.user("ann").says("yes")
        await client.until("MESSAGE_CREATE")
        return (await client.until("MESSAGE_CREATE"))["content"]

    assert gateway(on_discord, body) == "yes"
