"""A report as one HTML page that loads nothing and runs nothing.

The template escapes whatever it inserts, and a policy in the head of the page allows one style sheet, by its
hash, and nothing else: no script, no picture, no form.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from soundstage.claude_code.plugin_check._finding import PluginReport
from soundstage.claude_code.plugin_check._text import headline, summary

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATES: Final = Path(__file__).parent / "templates"


def report_html(report: PluginReport) -> str:
    """The report as a page. Equal input, equal page."""
    from markupsafe import Markup

    style = (TEMPLATES / "plugin.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = _template().render(
        report=report,
        headline=headline(report),
        summary=summary(report),
        files=list(report.by_file()),
        style=Markup(style),  # noqa: S704  (it is ours)
        style_hash=f"sha256-{digest}",
    )
    return page.encode("utf-8", "replace").decode()


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("plugin.html.jinja")
