"""The index of the tests of a session: one HTML file that loads nothing, with links to the pages beside it.

The tests are filtered by their outcome without a script, so that the policy of the page allows none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.journal import Redactor
from soundstage.report._page import asset, rendered, source_hash, write_html

ORDER: Final = ("failed", "error", "xfailed", "xpassed", "skipped", "passed")  # of the outcomes in the filter


class IndexRow(NamedTuple):
    """One test of a session.

    Args:
        name: its id.
        outcome: `passed`, `failed`, `error`, `skipped`, `xfailed` or `xpassed`.
        seconds: how long it took.
        headline: why it failed, in one line.
        page: its page, relative to the index; empty if it has none.
    """

    name: str
    outcome: str
    seconds: float
    headline: str = ""
    page: str = ""


def write_index(path: Path, rows: Sequence[IndexRow], *, redactor: Redactor | None = None) -> Path:
    """Write the index to a file, without secrets, and return the file's path.

    Args:
        path: where to; a file that is there is replaced.
        rows: the tests, in the order in which they are shown.
        redactor: knows what to blank out; unless given, one that knows the secrets of the environment.

    Raises:
        EnvironmentProblem: if the file cannot be written.
    """
    chosen = redactor if redactor is not None else Redactor.from_environment()
    clean = [row._replace(name=chosen.text(row.name), headline=chosen.text(row.headline)) for row in rows]
    counts = Counter(row.outcome for row in clean)
    style = asset("trace.css") + asset("index.css")
    page = rendered(
        "index.html.jinja",
        rows=clean,
        counts=[(outcome, counts[outcome]) for outcome in ORDER if counts[outcome]],
        style=style,
        style_hash=source_hash(style),
    )
    return write_html(path, page)
