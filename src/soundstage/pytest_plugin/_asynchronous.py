"""Asynchronous tests and their asynchronous fixtures, without another plugin.

A test and its fixtures run in one task, so what a fixture has entered (a host, a task group, a deadline) is left where
it was entered. Pytest wants the values of fixtures before that task exists: until then a `_Later` stands for each,
which knows how to make it. When the test runs, they are made in the order in which pytest asked for them, the test gets
the values, and afterwards they end in reverse.

Taken are `async def` tests that use fixtures of ours, or that refer to Soundstage, themselves or in one of their
fixtures. What another plugin has taken (a mark such as `asyncio` or `anyio`, or its automatic mode) is left to it,
unless the test uses our fixtures. This file imports pytest alone, because it is loaded in every run.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from types import FunctionType, ModuleType
from typing import Any, Final, NoReturn

import pytest

OTHERS: Final = ("asyncio", "anyio", "trio", "twisted")  # marks of other plugins that run asynchronous tests
NAME: Final = "soundstage"


class _Later:
    """The value of an asynchronous fixture, which is made when the test runs."""

    def __init__(self, name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        self.name = name
        self._function = function
        self._arguments = arguments

    async def make(self, stack: _Endings, made: Mapping[_Later, Any]) -> Any:
        """Make the value of arguments whose values are there; what follows its `yield` is left for the end."""
        begun = self._function(**filled_in(self._arguments, made))
        if inspect.isawaitable(begun):
            return await begun
        value = await anext(begun)
        stack.append((self.name, begun))
        return value


_Endings = list[tuple[str, AsyncGenerator[Any, None]]]
LATER: pytest.StashKey[list[_Later]] = pytest.StashKey()
RUNNING: pytest.StashKey[bool] = pytest.StashKey()


def filled_in(arguments: Mapping[str, Any], made: Mapping[_Later, Any]) -> dict[str, Any]:
    """Arguments with the values that have been made."""
    return {name: made[value] if isinstance(value, _Later) else value for name, value in arguments.items()}


async def body_of(
    item: pytest.Item, body: Callable[..., Coroutine[Any, Any, object]], **values: Any
) -> object:
    """The test with its asynchronous fixtures, as one coroutine."""
    item.stash[RUNNING] = True
    made: dict[_Later, Any] = {}
    stack: _Endings = []
    try:
        for later in item.stash.get(LATER, []):
            made[later] = await later.make(stack, made)
        result = await body(**filled_in(values, made))
    except BaseException as error:
        await _end(stack, error)
        raise
    await _end(stack, None)
    return result


async def _end(stack: _Endings, error: BaseException | None) -> None:
    """Let every fixture end, the newest first; what goes wrong is raised, or told beside the test's own error."""
    problems: list[BaseException] = []
    while stack:
        name, generator = stack.pop()
        try:
            await _finish(name, generator)
        except BaseException as problem:  # noqa: BLE001  (the others end too; raised or noted below)
            problems.append(problem)
    from soundstage.host import told_beside

    told_beside(error, problems)


async def _finish(name: str, generator: AsyncGenerator[Any, None]) -> None:
    with contextlib.suppress(StopAsyncIteration):
        await anext(generator)
        await generator.aclose()
        from soundstage.errors import ScriptError

        raise ScriptError(
            f"the fixture {name!r} yields more than once", expected="one yield", hint="remove the other"
        )


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Put a stand-in in the place of an asynchronous fixture of a test that we run."""
    item: Any = request._pyfuncitem  # noqa: SLF001  (`node` is the module where a fixture has a wider scope)
    function = fixturedef.func
    if not isinstance(item, pytest.Function) or not (_is_asynchronous(function) or item.stash.get(LATER, [])):
        return (yield)
    changeable: Any = fixturedef
    changeable.func = _stand_in(item, fixturedef, request)
    try:
        return (yield)
    finally:
        changeable.func = function


def _stand_in(
    item: pytest.Function, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Callable[..., Any]:
    """The function that pytest calls in the place of a fixture's; it refuses what cannot be served."""
    function, name = fixturedef.func, fixturedef.argname
    if not _is_asynchronous(function):
        later = [each for each in fixturedef.argnames if isinstance(request.getfixturevalue(each), _Later)]
        return _refusal(*_needs(name, later[0])) if later else function
    if not is_ours(item):
        return _refusal(*_synchronous(name, item)) if uses_us(item) and not _is_of_others(item) else function
    if fixturedef.scope != "function":
        hint = (
            "let it have the scope of one test, whose event loop it shares; or make it an ordinary function"
        )
        return _refusal(f"the asynchronous fixture {name!r} has the scope {fixturedef.scope!r}", hint)
    if item.stash.get(RUNNING, False):
        hint = f"ask for it as an argument: async def {item.name}({name})"
        return _refusal(f"the asynchronous fixture {name!r} cannot be made while the test runs", hint)
    bound = function.__func__.__get__(request.instance) if inspect.ismethod(function) else function

    def stand_in(**arguments: Any) -> _Later:
        later = _Later(name, bound, arguments)
        item.stash.setdefault(LATER, []).append(later)
        return later

    return stand_in


def _needs(name: str, later: str) -> tuple[str, str]:
    return (
        f"the fixture {name!r} needs the asynchronous fixture {later!r}, and is not asynchronous",
        f"write: async def {name}(...)",
    )


def _synchronous(name: str, item: pytest.Function) -> tuple[str, str]:
    return f"the fixture {name!r} is asynchronous and the test is not", f"write: async def {item.name}(...)"


def _refusal(summary: str, hint: str) -> Callable[..., NoReturn]:
    """A function that refuses: pytest keeps what the function of a fixture raises, and needs no more than that."""

    def refuse(**_: object) -> NoReturn:
        from soundstage.errors import ScriptError

        raise ScriptError(summary, hint=hint)

    return refuse


@pytest.hookimpl
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an asynchronous test without a stage; a stage runs its own."""
    body = pyfuncitem.obj
    if not inspect.iscoroutinefunction(body) or not is_ours(pyfuncitem):
        return None
    from soundstage.pytest_plugin._alone import run_alone

    arguments = inspect.signature(body).parameters
    values = {name: value for name, value in pyfuncitem.funcargs.items() if name in arguments}
    run_alone(pyfuncitem, body_of(pyfuncitem, body, **values))
    return True


def is_ours(item: pytest.Function) -> bool:
    """Whether a test is asynchronous and run by us."""
    if not inspect.iscoroutinefunction(written(item)):
        return False
    if "stage" in item.fixturenames:
        return True
    return not _is_of_others(item) and uses_us(item)


def _is_of_others(item: pytest.Function) -> bool:
    return any(item.get_closest_marker(name) for name in OTHERS)


def written(item: pytest.Function) -> Any:
    """The function of a test as it was written; pytest-asyncio makes it an ordinary one when the test runs."""
    if not type(item).__module__.startswith("pytest_asyncio"):
        return item.obj
    function = inspect.unwrap(item.obj)
    return function if item.instance is None else function.__get__(item.instance)


def uses_us(item: Any) -> bool:
    """Whether a test or one of its fixtures refers to Soundstage."""
    if not isinstance(item, pytest.Function):
        return False
    if "stage" in item.fixturenames:
        return True
    manager: Any = item.session._fixturemanager  # noqa: SLF001  (pytest has no other way to the fixtures of a test)
    fixtures = [found[-1].func for name in item.fixturenames if (found := manager.getfixturedefs(name, item))]
    return any(map(_refers, [item.obj, *fixtures]))


def _refers(function: Any) -> bool:
    """Whether a function, or the file that it stands in, has anything of Soundstage."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    names = (*getattr(code, "co_names", ()), *_named(getattr(function, "__globals__", {})))
    return any(name.partition(".")[0] == NAME for name in names)


def _named(values: Mapping[str, Any]) -> list[str]:
    if values.get("__name__", "").partition(".")[0] == NAME:  # a fixture of ours is no word of the user's
        return []
    kinds = ((value if isinstance(value, type | FunctionType) else type(value)) for value in values.values())
    modules = [value.__name__ for value in values.values() if isinstance(value, ModuleType)]
    return [*modules, *(str(kind.__module__) for kind in kinds)]


def _is_asynchronous(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
