"""The public surface: what `soundstage` and its sub-packages export is there, short, and documented."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import soundstage

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
