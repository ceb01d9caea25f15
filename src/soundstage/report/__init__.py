"""Traces for people: as text in the terminal, and as one HTML page that can be attached to anything."""

from soundstage.report._grid import GridCell, GridRow, RunGrid, row_id, write_grid
from soundstage.report._index import IndexRow, write_index
from soundstage.report._page import ReportError, html_page, html_template, source_hash, write_page
from soundstage.report._run_file import RunFile, read_run
from soundstage.report._section import (
    CarriesVerdict,
    PageComparison,
    PageDifference,
    PageStep,
    Section,
    SectionVerdict,
)
from soundstage.report._style import text_style
from soundstage.report._table import SummaryRow
from soundstage.report._text import print_trace, render_text, show_run, summary_table

__all__ = [
    "CarriesVerdict",
    "GridCell",
    "GridRow",
    "IndexRow",
    "PageComparison",
    "PageDifference",
    "PageStep",
    "ReportError",
    "RunFile",
    "RunGrid",
    "Section",
    "SectionVerdict",
    "SummaryRow",
    "html_page",
    "html_template",
    "print_trace",
    "read_run",
    "render_text",
    "row_id",
    "show_run",
    "source_hash",
    "summary_table",
    "text_style",
    "write_grid",
    "write_index",
    "write_page",
]
