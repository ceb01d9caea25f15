"""Templates of promptfoo: nunjucks, which Jinja2 reads; values become text as in JavaScript. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import ChainableUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from soundstage.errors import WrongValueError

_TAG: Final = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_STRICT: Final = re.compile(r"([!=])==")  # JavaScript's comparison of values of one type


class _Nunjucks(SandboxedEnvironment):
    """Jinja2, with what nunjucks has besides."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if attribute == "length" and isinstance(obj, str | list):
            return len(obj)
        return super().getattr(obj, attribute)


def js_text(value: Any) -> str:
    """A value as JavaScript prints it in a template; data is JSON."""
    if value is None or isinstance(value, ChainableUndefined):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return json_text(value) if isinstance(value, dict | list) else str(value)


def js_string(value: Any) -> str:
    """A value as JavaScript's `String` has it: of data that is in a template as it is."""
    if isinstance(value, dict):
        return "[object Object]"
    return ",".join(map(js_string, value)) if isinstance(value, list) else js_text(value)


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as `JSON.stringify` writes it."""
    separators = (",", ": " if indent else ":")
    return json.dumps(_whole(value), ensure_ascii=False, indent=indent, separators=separators)


def _whole(value: Any) -> Any:
    """Numbers without a fraction as whole ones."""
    if isinstance(value, dict):
        return {key: _whole(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def render(text: str, variables: Mapping[str, Any], shown: Callable[[Any], str] = js_text) -> str:
    """A template with its variables.

    Args:
        text: the template.
        variables: by name.
        shown: makes a text of a value that stands in it.

    Raises:
        WrongValueError: for a template that cannot be read or fails.
    """
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return text
    source = _TAG.sub(lambda found: _STRICT.sub(r"\1=", found.group()), text)
    try:
        return str(_environment(shown).from_string(source).render(variables))
    except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
        raise WrongValueError("this template cannot be used", seen=f"{error}: {text[:80]}") from None


def render_all(value: Any, variables: Mapping[str, Any], shown: Callable[[Any], str] = js_text) -> Any:
    """Every text in some data, rendered."""
    if isinstance(value, str):
        return render(value, variables, shown)
    if isinstance(value, list):
        return [render_all(part, variables, shown) for part in value]
    if isinstance(value, dict):
        return {key: render_all(part, variables, shown) for key, part in value.items()}
    return value


def _environment(shown: Callable[[Any], str]) -> SandboxedEnvironment:
    made = _Nunjucks(
        undefined=ChainableUndefined, keep_trailing_newline=True, finalize=shown, autoescape=False
    )
    made.filters["dump"] = json_text
    made.filters["load"] = json.loads
    made.filters["nl2br"] = lambda text: str(text).replace("\n", "<br />\n")
    return made
