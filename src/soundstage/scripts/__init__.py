"""Scripts of models and of servers: rules that answer, and the files that hold them.

`soundstage.models` and `soundstage.mcp` say what is asked and what is answered; the table of rules, the reader of
files and the words of their messages are here.
"""

from soundstage.scripts._check import convert_source
from soundstage.scripts._file import (
    FORMS,
    items_of,
    line_of,
    load_python,
    read_json_lines,
    read_source_file,
    report_conditions,
    reporting,
    right_version,
    shown,
    sorted_problems,
    where,
)
from soundstage.scripts._index import Facts, Kinds, holds
from soundstage.scripts._lint import Shadowed
from soundstage.scripts._nearest import no_match
from soundstage.scripts._rule import Conditions, Rule, described
from soundstage.scripts._schema import published_schema
from soundstage.scripts._source import SourceField, SourceNode, SourceReport, read_source, wrap_source
from soundstage.scripts._table import RuleTable, Serving, never_used
from soundstage.scripts._words import in_one_line, in_words

__all__ = [
    "FORMS",
    "Conditions",
    "Facts",
    "Kinds",
    "Rule",
    "RuleTable",
    "Serving",
    "Shadowed",
    "SourceField",
    "SourceNode",
    "SourceReport",
    "convert_source",
    "described",
    "holds",
    "in_one_line",
    "in_words",
    "items_of",
    "line_of",
    "load_python",
    "never_used",
    "no_match",
    "published_schema",
    "read_json_lines",
    "read_source",
    "read_source_file",
    "report_conditions",
    "reporting",
    "right_version",
    "shown",
    "sorted_problems",
    "where",
    "wrap_source",
]
