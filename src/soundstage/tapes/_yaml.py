"""Scripts as YAML that people read: short mappings on one line, long texts as blocks. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_WORDS: Final = re.compile(r"[A-Za-z][A-Za-z _-]*[A-Za-z]|[A-Za-z]")
_RESERVED: Final = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_SHORT: Final = 88  # characters of a mapping on one line


def as_yaml(data: Mapping[str, Any]) -> str:
    """Data as YAML that the reader of scripts reads as the same data.

    Example:
        >>> print(as_yaml({"rules": [{"when": {"user": "hello"}, "reply": {"text": "hi!"}}]}), end="")
        rules:
        - when: {user: hello}
          reply: {text: "hi!"}
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes data without anchors."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        plain = _WORDS.fullmatch(value) and value.lower() not in _RESERVED
        style = "|" if value.count("\n") > 1 and _is_block(value) else (None if plain else '"')
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    def mapping(dumper: Any, value: dict[str, Any]) -> Any:
        return dumper.represent_mapping("tag:yaml.org,2002:map", value.items(), flow_style=_is_short(value))

    Dumper.add_representer(str, text)
    Dumper.add_representer(dict, mapping)
    found: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
    return found


def _is_block(text: str) -> bool:
    """Whether a text can be written as it is."""
    lines = text.splitlines()
    return (
        text == "\n".join(lines) + ("\n" if text.endswith("\n") else "")
        and not text.startswith((" ", "\n", "\t"))
        and not any(line != line.rstrip() or not line.isprintable() for line in lines)
    )


def _is_short(value: Mapping[str, Any]) -> bool:
    return "rules" not in value and "reply" not in value and len(str(value)) <= _SHORT
