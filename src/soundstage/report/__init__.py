"""Traces for people: as text in the terminal, and as one HTML page that can be attached to anything."""

from soundstage.report._context_text import render_context
from soundstage.report._diff import DiffReport, diff_runs, render_diff
from soundstage.report._index import IndexRow, write_index
from soundstage.report._page import html_page, write_page
from soundstage.report._run_file import RunFile, read_run
from soundstage.report._section import CarriesVerdict, Section, SectionVerdict
from soundstage.report._table import SummaryRow
from soundstage.report._text import print_trace, render_text, show_run, summary_table

__all__ = [
    "CarriesVerdict",
    "DiffReport",
    "IndexRow",
    "RunFile",
    "Section",
    "SectionVerdict",
    "SummaryRow",
    "diff_runs",
    "html_page",
    "print_trace",
    "read_run",
    "render_context",
    "render_diff",
    "render_text",
    "show_run",
    "summary_table",
    "write_index",
    "write_page",
]
