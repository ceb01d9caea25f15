"""The page: one HTML file that loads nothing.

Three things keep the texts of a journal from becoming anything but text. The template escapes whatever it
inserts. The records stand in a <script> of type application/json, in which `<`, `>` and `&` are written as
JSON escapes, and the page's own script puts their texts into text nodes only. And a policy in the head of the
page allows one style sheet and one script, by their hashes, no address to load anything from, and no way to
turn a text into HTML (trusted types).
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from soundstage.errors import EnvironmentProblem, HarnessError, ScriptError
from soundstage.journal import Redactor, clean_records
from soundstage.report._figures import summarise
from soundstage.report._payload import rows_of, script_json
from soundstage.report._section import PageComparison, PageDifference, Section, SectionVerdict
from soundstage.report._timeline import timeline_of

if TYPE_CHECKING:
    from jinja2 import Template

_MOST: Final = 200  # differences of a verdict that are shown
TEMPLATES: Final = Path(__file__).parent / "templates"
SCRIPTS: Final = (
    "data.js",
    "dom.js",
    "screen.js",
    "detail.js",
    "talk.js",
    "timeline.js",
    "events.js",
    "trace.js",
)


class ReportError(HarnessError):
    """Raised when a page cannot be made: its template and its values do not fit."""


def html_page(
    sections: Sequence[Section], *, title: str = "Soundstage trace", diff: PageComparison | None = None
) -> str:
    """The trace of one or several journals as one self-contained HTML page. Equal input, equal page.

    Secrets are not looked for: what is written to disk goes through `write_page`.

    Args:
        sections: one for each journal; more than one get a table of contents.
        title: the page's title, plain text.
        diff: how the runs of the first two sections differ; it stands above them.

    Raises:
        ScriptError: if there is no section.

    Example:
        >>> from soundstage.journal import Journal, Noted
        >>> journal = Journal()
        >>> _ = journal.append(Noted(text="<b>hello</b>"), source="test")
        >>> "<b>hello</b>" in html_page([Section("a run", journal.read())])
        False
    """
    if not sections:
        raise ScriptError(
            "a page needs at least one section",
            seen="an empty list",
            hint="html_page([Section('my run', journal.read())])",
        )
    style, script = _assets()
    return rendered(
        "trace.html.jinja",
        title=title,
        style=style,
        style_hash=source_hash(style),
        script=script,
        script_hash=source_hash(script),
        sections=[_context(number, section) for number, section in enumerate(sections, start=1)],
        diff=diff,
    )


def write_page(
    path: Path | str,
    sections: Sequence[Section],
    *,
    title: str = "Soundstage trace",
    redactor: Redactor | None = None,
    diff: PageComparison | None = None,
) -> Path:
    """Write the page to a file, without secrets, and return the file's path. Folders are made as needed.

    Args:
        path: where to; a file that is there is replaced.
        sections: one for each journal.
        title: the page's title.
        redactor: knows what to blank out; unless given, one that knows the secrets of the environment.
        diff: how the runs of the first two sections differ, made of records without secrets.

    Raises:
        EnvironmentProblem: if the file cannot be written.
    """
    chosen = redactor if redactor is not None else Redactor.from_environment()
    clean = [_redacted(section, chosen) for section in sections]
    return write_html(Path(path), html_page(clean, title=chosen.text(title), diff=diff))


def write_html(target: Path, page: str) -> Path:
    """Write a page to a file; folders are made as needed.

    Raises:
        EnvironmentProblem: if the file cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(page.encode("utf-8", "replace"))
    except OSError as error:
        raise EnvironmentProblem(
            f"the page {target} cannot be written",
            seen=error.strerror or str(error),
            hint="choose a folder that you may write to",
        ) from None
    return target


def _redacted(section: Section, redactor: Redactor) -> Section:
    """`section` as a file journal keeps it. This comes before rendering: cut and escaped keys would pass."""
    return Section(
        title=redactor.text(section.title),
        records=list(clean_records(section.records, redactor)),
        outcome=redactor.text(section.outcome),
        note=redactor.text(section.note),
        failure=redactor.text(section.failure),
        unused=redactor.text(section.unused),
        verdict=_redacted_verdict(section.verdict, redactor) if section.verdict is not None else None,
    )


def _redacted_verdict(verdict: SectionVerdict, redactor: Redactor) -> SectionVerdict:
    found = redactor.json(msgspec.json.encode(list(verdict.found)))
    return SectionVerdict(
        line=redactor.text(verdict.line),
        found=msgspec.json.decode(found, type=list[PageDifference]),
        position=redactor.text(verdict.position),
        steps=[(label, redactor.text(command)) for label, command in verdict.steps],
    )


def rendered(name: str, **values: Any) -> str:
    """A page made of one of our templates.

    Raises:
        ReportError: if it cannot be made of these values.
    """
    from jinja2 import TemplateError

    try:
        return html_template(TEMPLATES, name).render(**values)
    except TemplateError as error:
        raise ReportError(
            f"the page {name} cannot be made",
            seen=f"{type(error).__name__}: {error}",
            hint="report it with these words: template and values do not fit",
        ) from error


@cache
def html_template(folder: Path, name: str) -> Template:
    """The template of a page, with escaping on; a name that it is not given is an error.

    Args:
        folder: where the template is, and those that it includes.
        name: its file.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


@cache
def _assets() -> tuple[Any, Any]:
    """The style sheet and the script, marked as markup: they are ours."""
    from markupsafe import Markup

    scripts = "\n".join((TEMPLATES / name).read_text("utf-8") for name in SCRIPTS)
    return asset("trace.css"), Markup(f'"use strict";\n{scripts}')  # noqa: S704


@cache
def asset(name: str) -> Any:
    """A file beside the templates, marked as markup: it is ours."""
    from markupsafe import Markup

    return Markup((TEMPLATES / name).read_text("utf-8"))  # noqa: S704


def _verdict(verdict: SectionVerdict) -> dict[str, Any]:
    """The values of the template for the verdict on a replay."""
    more = len(verdict.found) - _MOST
    values = {"found": verdict.found[:_MOST], "more": f"and {more} more" if more > 0 else ""}
    return {**verdict._asdict(), **values}


def source_hash(text: str) -> str:
    """The hash of a style sheet or a script, as the policy of a page names it.

    Args:
        text: all of it, as it stands in the page.
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _context(number: int, section: Section) -> dict[str, Any]:
    """The values of a section for the template."""
    from markupsafe import Markup

    summary = summarise(section)
    timeline = timeline_of(summary.trace)
    rows = rows_of(summary.trace, timeline.ends)
    counts = Counter(row.type for row in rows.rows)
    chunked = rows.types.index("ModelChunked") if "ModelChunked" in rows.types else -1
    data = {
        "sources": rows.sources,
        "types": rows.types,
        "lanes": [{"name": lane.name, "slots": lane.slots, "runs": lane.runs} for lane in timeline.lanes],
        "bars": timeline.bars,
        "marks": timeline.marks,
        "pieces": rows.pieces,
        "rows": rows.rows,
    }
    return {
        **summary._asdict(),
        "verdict": _verdict(summary.verdict) if summary.verdict is not None else None,
        "id": f"s{number}",
        "prefix": "" if number == 1 else f"s{number}",
        "rows": len(rows.rows),
        "sources": [{"number": place, "name": name} for place, name in enumerate(rows.sources)],
        "types": [
            {"number": place, "name": name, "count": counts[place]}
            for place, name in sorted(enumerate(rows.types), key=lambda item: item[1])
        ],
        "chunks": counts[chunked],
        "data": Markup(script_json(data)),  # noqa: S704  (script_json escapes)
    }
