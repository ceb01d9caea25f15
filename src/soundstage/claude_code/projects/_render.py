"""Templates: the trees of files in `templates`, one for each language, in two layers.

`common` is what all projects of a language have, the folder of a type adds to it. Every file ends in `.j2` and is
rendered with undefined names as errors; `__package__` and `__slug__` in paths are replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

COMMON: Final = "common"
_SUFFIX: Final = ".j2"


def rendered(language: str, type: str, values: Mapping[str, str]) -> dict[str, str]:  # noqa: A002
    """Every file of a project: path, with `/` between folders, to text. Sorted by path."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        autoescape=False,  # noqa: S701  (source code, not a page; names hold no signs that mean anything in one)
    )
    root = files("soundstage.claude_code.projects") / "templates" / language
    found: dict[str, str] = {}
    for layer in (COMMON, type):
        for path, template in _templates(root / layer, ""):
            text = environment.from_string(template.read_text(encoding="utf-8")).render(type=type, **values)
            found[_path(path, values)] = text
    return dict(sorted(found.items()))


def _templates(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _templates(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            yield prefix + entry.name.removesuffix(_SUFFIX), entry


def _path(path: str, values: Mapping[str, str]) -> str:
    for name in ("package", "slug"):
        path = path.replace(f"__{name}__", values[name])
    return path
