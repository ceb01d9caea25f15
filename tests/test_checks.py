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
    "soundstage.claude_code.harness",  # tools, whose results say whether they hold
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


def public_functions():
    """Every function that a public module exports, and every public method of an exported class, with its name."""
    for info in pkgutil.walk_packages(soundstage.__path__, "soundstage."):
        if info.name.startswith(LEFT_OUT) or any(part.startswith("_") for part in info.name.split(".")):
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield f"{info.name}.{name}", thing
            if inspect.isclass(thing) and thing.__module__.startswith("soundstage."):
                for member in dir(thing):
                    if inspect.isfunction(method := getattr(thing, member)):
                        yield f"{info.name}.{name}.{member}", method


def returned_type(function):
    """The name of the type that a function returns, as its annotation says."""
    kind = function.__annotations__.get("return")
    return getattr(kind, "__name__", str(kind)).rpartition(".")[2]


def test_every_public_check_returns_a_finding_and_nothing_else_is_called_a_check():
    checks = {
        place: returned_type(function)
        for place, function in public_functions()
        if (name := place.rpartition(".")[2]) == "check" or name.startswith("check_")
    }
    assert len(checks) > 25
    assert {place: kind for place, kind in checks.items() if kind != "Finding"} == {}


def test_a_suite_for_implementers_is_called_verify_and_nothing_else_is():
    suites = {place: function for place, function in public_functions() if ".verify_" in place}
    assert {place.rpartition(".")[2] for place in suites} >= {
        "verify_daemon",
        "verify_journal",
        "verify_model",
        "verify_world",
    }
    for place, function in suites.items():
        first = next(iter(inspect.signature(function).parameters))
        assert first.startswith("make"), f"{place} takes a function that makes the part"
        assert returned_type(function) == "None", f"{place} raises what does not hold, and returns nothing"
        assert inspect.iscoroutinefunction(function), place


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
