"""Options of `record` and `codegen` that have no use with others are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from soundstage.errors import ConfigError
from soundstage.tapes._commands import record
from soundstage.tapes._recorded_run import recorded_draft

app = typer.Typer()
app.command()(record)


def test_an_upstream_is_refused_where_no_provider_is_asked(tmp_path):
    options = ["--tape", str(tmp_path / "t.tape"), "--upstream", "openai=http://127.0.0.1:1/v1"]
    ended = CliRunner().invoke(app, [*options, "--mode", "none", "--", "never-run"])
    assert ended.exit_code == 2
    assert "--upstream" in ended.output


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({"script": Path("s.yaml"), "tape": Path("t.tape")}, "--script and --tape"),
        ({"script": Path("s.yaml"), "upstream": ["openai=http://x"]}, "--script and --upstream"),
        ({"tape": Path("t.tape"), "upstream": ["openai=http://x"]}, "--tape and --upstream"),
    ],
    ids=str,
)
def test_a_program_has_one_that_answers(given, seen):
    with pytest.raises(ConfigError) as caught:
        recorded_draft(["never-run"], [], **given)
    assert caught.value.seen == seen
