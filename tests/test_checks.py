"""Every expectation and assertion has a check that returns a finding, and no check raises what its twin does."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil

import pytest

import soundstage
from soundstage.errors import ExpectationError, MatchError
from soundstage.host import HostBuilder
from soundstage.trace import Finding, checking, checking_now, name_of_check

LEFT_OUT = (
    "soundstage.mcp_server",  # tools, whose results say whether they hold
    "soundstage.demo",
)


def public_places():
    """Every module and every class of ours, but protocols, with its name."""
    for info in pkgutil.walk_packages(soundstage.__path__, "soundstage."):
        if info.name.startswith(LEFT_OUT) or info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        yield info.name, module
        for name, kind in vars(module).items():
            own = inspect.isclass(kind) and kind.__module__ == info.name
            if own and not getattr(kind, "_is_protocol", False):
                yield f"{info.name}.{name}", kind


def test_every_expectation_and_every_assertion_has_its_check():
    found, without = 0, []
    for place, thing in public_places():
        for name, value in vars(thing).items():
            if not name.startswith(("expect", "assert_")) or not inspect.isfunction(value):
                continue
            if inspect.ismodule(thing) and (value.__module__ != place or not name.startswith("assert_")):
                continue
            found += 1
            if not hasattr(thing, name_of_check(name)):
                without.append(f"{place}.{name}")
    assert found > 25
    assert without == []


def test_a_check_of_a_world_says_what_was_found_or_missed_and_raises_nothing():
    async def app(world):
        while (line := await world.console.read_line()) is not None:
            world.console.write_line(f"you said {line}")

    async def body(host):
        await host.console.send("hello")
        held = await host.console.check("you said", within=5)
        assert held
        assert held.found == "you said hello"
        missed = await host.console.check("good bye", within=5)
        assert not missed
        assert "within 5 s" in missed.message
        assert missed.expected == "'good bye'"
        assert "no line at all" in missed.seen
        assert await host.console.check_nothing(within=5)
        await host.console.send("again")
        assert not await host.console.check_nothing(within=5)
        with pytest.raises(MatchError):
            await host.console.check([], within=5)

    HostBuilder().with_app(app).run(body)


def test_a_check_keeps_its_expectation_s_arguments_and_lets_other_errors_through():
    class World:
        async def expect_message(self, text: str, *, within: float = 1) -> str:
            if text == "wrong":
                raise ValueError(text)
            if text == "missing":
                raise ExpectationError("it did not come", expected=text, seen="nothing", hint="look", at=7)
            return text

        def expect_no_call(self, tool: str = "") -> None:
            if tool:
                raise ExpectationError(f"{tool} was called")

        check_message = checking(expect_message)
        check_no_call = checking_now(expect_no_call)

    world = World()
    assert asyncio.run(world.check_message("hi")) == Finding(
        passed=True, message="expect_message holds", found="hi"
    )
    assert asyncio.run(world.check_message("missing")) == Finding(
        passed=False, message="it did not come", expected="missing", seen="nothing", hint="look", at=7
    )
    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(world.check_message("wrong"))
    assert world.check_no_call()
    assert world.check_no_call("search").message == "search was called"
    assert World.check_message.__name__ == "check_message"
    assert list(inspect.signature(World.check_message).parameters) == ["self", "text", "within"]
