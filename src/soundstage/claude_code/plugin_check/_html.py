"""A report as one HTML page that loads nothing and runs nothing.

The template escapes whatever it inserts, and a policy in the head of the page allows one style sheet, by its
hash, and nothing else: no script, no picture, no form.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from soundstage.claude_code.plugin_check._finding import PluginReport
from soundstage.claude_code.plugin_check._text import headline, summary

TEMPLATES: Final = Path(__file__).parent / "templates"


def report_html(report: PluginReport) -> str:
    """The report as a page. Equal input, equal page."""
    from markupsafe import Markup

    from soundstage.report import html_template, source_hash

    style = (TEMPLATES / "plugin.css").read_text("utf-8")
    page = html_template(TEMPLATES, "plugin.html.jinja").render(
        report=report,
        headline=headline(report),
        summary=summary(report),
        files=list(report.by_file()),
        style=Markup(style),  # noqa: S704  (it is ours)
        style_hash=source_hash(style),
    )
    return page.encode("utf-8", "replace").decode()
