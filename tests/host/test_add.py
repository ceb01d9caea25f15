"""Worlds of any wing as parts of a run: `HostBuilder().add(World, ...)`."""

from __future__ import annotations

from functools import partial

import pytest

from soundstage.clock import SystemClock, VirtualClock
from soundstage.errors import InvalidStateError
from soundstage.host import HostBuilder
from soundstage.lifecycle import Daemon, Status
from soundstage.nostr import NostrRelay, VirtualNostrRelay


class Shop(Daemon):
    """A world that keeps what it is given."""

    def __init__(self, journal, price=1, *, ids, within=5.0, name="shop"):
        super().__init__(name, journal)
        self.price, self.ids, self.within = price, ids, within

    async def _start(self): ...

    async def _stop(self): ...


class RealShop(Shop):
    real_time = True


class Plain(Daemon):
    def __init__(self, journal):
        super().__init__("plain", journal)

    async def _start(self): ...

    async def _stop(self): ...


def run_with(builder, look):
    async def body(host):
        return look(host)

    return builder.run(body)


def test_a_world_gets_the_journal_the_ids_and_the_seconds_of_the_run_and_its_own_options():
    def look(host):
        shop = host.get(Shop)
        assert shop.journal is host.journal
        assert shop.ids is host.ids
        assert shop.status is Status.RUNNING
        return shop.price, shop.within

    assert run_with(HostBuilder().with_timeout(7).add(Shop, 3), look) == (3, 7)
    assert run_with(HostBuilder().add(Shop, price=4).with_timeout(8), look) == (4, 8)
    assert run_with(HostBuilder().with_timeout(7).add(Shop, within=1), look) == (1, 1)
    assert run_with(HostBuilder().add(Shop), look) == (1, 5)


def test_a_world_that_takes_nothing_of_the_run_gets_the_journal_alone():
    assert run_with(HostBuilder().add(Plain), lambda host: host.get(Plain).name) == "plain"


@pytest.mark.parametrize(("world", "clock"), [(Shop, VirtualClock), (RealShop, SystemClock)])
def test_the_run_is_on_the_time_that_its_worlds_need(world, clock):
    assert run_with(HostBuilder().add(Shop).add(world, name="second"), lambda host: type(host.clock)) is clock


def test_worlds_of_one_class_are_told_apart_by_their_names():
    def look(host):
        assert host.get(Shop).price == 1
        with pytest.raises(InvalidStateError, match=r"no Shop called 'kiosk'.*\n.*left, right"):
            host.get(Shop, "kiosk")
        return host.get(Shop, "right").price

    assert run_with(HostBuilder().add(Shop, 1, name="left").add(Shop, 2, name="right"), look) == 2


def test_a_world_that_is_not_there_says_how_it_is_added():
    with pytest.raises(InvalidStateError, match=r"\.add\(Shop\)"):
        run_with(HostBuilder().add(Plain), lambda host: host.get(Shop))


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (
            lambda builder: builder.add(Shop, prize=3),
            r"add\(Shop, \.\.\.\).*prize.*it takes price, ids, within, name",
        ),
        (lambda builder: builder.add(Shop, 1, 2), r"add\(Shop, \.\.\.\): too many positional arguments"),
        (
            lambda builder: builder.add(partial(Shop, price=2), prize=3),
            r"add\(functools.partial\(.*Shop.*prize",
        ),
        (lambda builder: builder.add(Plain, 1), "too many positional arguments; it takes no options"),
        (lambda builder: builder.add("shop"), "add takes the class of a world, and got str"),
    ],
)
def test_a_wrong_option_is_named_when_it_is_given(add, message):
    with pytest.raises(TypeError, match=message):
        add(HostBuilder())


def test_what_is_no_world_is_refused_when_the_run_is_made():
    with pytest.raises(
        TypeError, match="add takes the class of a world, or a function that makes one, and got list"
    ):
        HostBuilder().add(lambda journal: []).build()


def test_the_seconds_of_the_run_reach_the_waits_of_a_relay():
    async def body(host):
        with pytest.raises(TimeoutError, match=r"within 0\.25 s"):
            await host.get(VirtualNostrRelay).expect("hello")
        return host.clock.now()

    assert HostBuilder().with_timeout(0.25).add(VirtualNostrRelay).run(body) == 0.25
    assert NostrRelay.real_time
