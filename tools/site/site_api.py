"""The pages of the API reference: one for each public module, with every name that it exports."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from site_names import described

import soundstage

FOLDER: Final = "reference/api"
# A name that a user gets to know by another module too is described once, where it is at home.
ELSEWHERE: Final = "| name | described in |\n|---|---|\n{rows}\n\n"


@dataclass(frozen=True)
class PublicModule:
    """A public module and what it exports: `home` of each name is the module that describes it."""

    name: str
    summary: str
    home: dict[str, str]

    @property
    def page(self) -> str:
        """The place of its page in the site."""
        return f"{FOLDER}/{self.name}.md"

    @property
    def own(self) -> list[str]:
        """The names that this module describes."""
        return [name for name, home in self.home.items() if home == self.name]


@cache
def public_modules() -> tuple[PublicModule, ...]:
    """Every public module that exports something, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages of others, such as discord.py's `audioop`
        loaded = {name: importlib.import_module(name) for name in _names()}
    exports = {
        name: {one: getattr(module, one) for one in _exported(module)} for name, module in loaded.items()
    }
    return tuple(
        PublicModule(
            name,
            (loaded[name].__doc__ or "").strip().split("\n\n")[0].replace("\n", " "),
            {one: _home(one, value, name, exports) for one, value in exported.items()},
        )
        for name, exported in exports.items()
        if exported
    )


def _names() -> Iterator[str]:
    yield "soundstage"
    for info in pkgutil.walk_packages(soundstage.__path__, "soundstage."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            yield info.name


def _exported(module: Any) -> list[str]:
    return [name for name in getattr(module, "__all__", ()) if name != "__version__"]


def _home(name: str, value: Any, here: str, exports: dict[str, dict[str, Any]]) -> str:
    """The module that describes a name: of those that export it, the nearest to where it is defined."""
    defined = getattr(value, "__module__", None) or ""
    same = [module for module, exported in exports.items() if exported.get(name, exports) is value]
    around = [module for module in same if f"{defined}.".startswith(f"{module}.") and module != "soundstage"]
    return max(around, key=len) if around else here


def api_pages() -> dict[str, str]:
    """The Markdown of each page of the reference, by its place."""
    modules = public_modules()
    return {f"{FOLDER}/index.md": _index(modules), **{module.page: _page(module) for module in modules}}


def _index(modules: tuple[PublicModule, ...]) -> str:
    rows = [f"| [{one.name}]({one.name}.md) | {one.summary} | {len(one.home)} |" for one in modules]
    return (
        "# Python API\n\nEvery public module, and how many names it exports. The search finds each by its name.\n\n"
        "| module | | names |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _page(module: PublicModule) -> str:
    loaded = importlib.import_module(module.name)
    rows = [
        f"| `{name}` | [{home}]({home}.md#{home}.{name}) |"
        for name, home in module.home.items()
        if home != module.name
    ]
    return "\n".join(
        [
            f"# {module.name}\n\n{inspect.getdoc(loaded)}\n",
            ELSEWHERE.format(rows="\n".join(rows)) if rows else "",
            *(described(module.name, name, getattr(loaded, name)) for name in module.own),
        ]
    )


def api_nav() -> list[dict[str, str]]:
    """The reference as a part of the navigation."""
    modules = [{one.name.removeprefix("soundstage."): one.page} for one in public_modules()]
    return [{"Overview": f"{FOLDER}/index.md"}, *modules]
