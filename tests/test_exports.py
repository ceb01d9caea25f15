"""The public surface: what `soundstage` and its sub-packages export is there, short, and documented."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import soundstage

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "soundstage"

PUBLIC = sorted(
    info.name
    for info in pkgutil.iter_modules(soundstage.__path__, "soundstage.")
    if not info.name.rpartition(".")[2].startswith("_") and info.name != "soundstage.pytest_plugin"
)


def test_the_root_has_at_most_25_names_and_each_can_be_imported():
    assert len(soundstage.__all__) <= 25
    assert sorted(soundstage.__all__) == soundstage.__all__
    for name in soundstage.__all__:
        assert getattr(soundstage, name).__doc__, f"soundstage.{name} has no docstring"


def test_a_name_that_does_not_exist_is_an_attribute_error_that_lists_the_names():
    with pytest.raises(AttributeError, match="HostBuilder"):
        _ = soundstage.Nonsense


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_module_says_what_it_is_and_exports_what_exists(module):
    loaded = importlib.import_module(module)
    assert loaded.__doc__, f"{module} has no docstring"
    names = getattr(loaded, "__all__", [])
    assert list(names) == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name)), (
        module
    )
    for name in names:
        thing = getattr(loaded, name)
        if callable(thing) and getattr(thing, "__module__", "").startswith("soundstage"):
            assert thing.__doc__, f"{module}.{name} has no docstring"


def test_importing_the_package_imports_neither_asyncio_nor_anything_outside_the_standard_library():
    code = (
        "import sys; before = set(sys.modules); import soundstage\n"
        "print(sorted(name for name in set(sys.modules) - before if '.' not in name))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.strip("[]\n").replace("'", "").split(", "))
    assert "asyncio" not in loaded
    assert "msgspec" not in loaded


def packages():
    """Every public package and module of ours, with its file or folder."""
    for info in pkgutil.walk_packages(soundstage.__path__, "soundstage."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            place = PACKAGE.joinpath(*info.name.split(".")[1:])
            yield info.name, place if place.is_dir() else place.with_suffix(".py")


def words_of(text):
    return set(re.findall(r"\w+", text))


@functools.cache
def users():
    """Every word of a document, test, example, bench or module of ours, with the packages that have it.

    A file belongs to the nearest public package; what is beside the package belongs to none, which is a user too.
    """
    places = {place for _, place in packages()}
    folders = [ROOT / name for name in ("src", "tests", "examples", "bench")]
    files = [path for folder in folders for ending in ("*.py", "*.pyi") for path in folder.rglob(ending)]
    found = defaultdict(set)
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *files):
        home = next((place for place in (path, *path.parents) if place in places), None)
        for word in words_of(path.read_text()):
            found[word].add(home)
    return found


def annotations_of(node):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        return [node.returns, *(argument.annotation for argument in arguments)]
    return [node.annotation] if isinstance(node, ast.AnnAssign) else []


def types_of(place):
    """The words of all annotations in a package: with them, its types have users."""
    nodes = (
        node
        for path in ([place] if place.is_file() else place.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
    )
    return {
        word
        for node in nodes
        for kind in annotations_of(node)
        if kind
        for word in words_of(ast.unparse(kind))
    }


@pytest.mark.filterwarnings("ignore:'audioop' is deprecated:DeprecationWarning")  # imported by discord.py
@pytest.mark.parametrize(("module", "place"), [pytest.param(*found, id=found[0]) for found in packages()])
def test_every_public_name_is_used_by_a_document_a_test_or_another_package(module, place):
    """Or is the class of a value that the package takes or returns: a reader has to be able to look it up."""
    loaded = importlib.import_module(module)
    names = {
        name: name.replace("check_", "assert_") for name in getattr(loaded, "__all__", ())
    }  # one document for both
    unused = [name for name, twin in names.items() if not (users()[name] | users()[twin]) - {place}]
    types = types_of(place) if unused else ()
    assert [name for name in unused if not (inspect.isclass(getattr(loaded, name)) and name in types)] == []
