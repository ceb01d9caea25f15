"""When a change needs review, and what reviewers and testers answer."""

from __future__ import annotations

import json

import pytest

from soundstage.agents.teams import GateRule, ReplyError, parse_qa, parse_review


@pytest.mark.parametrize(
    ("files", "description", "reason"),
    [
        (["a.py", "b.py"], "Rename", ""),
        (["a.py", "b.py", "c.ts"], "Rename", "3 files of code changed, more than 2"),
        (["a.py", "a.py", "b.py", "README.md", "x.txt"], "Rename", ""),
        (["a.py"], "Change the Password TOKEN", "the description mentions 'token'"),
        (["src/Auth.py"], "Rename", "src/Auth.py mentions 'auth'"),
        (["src/routes.py"], "Rename", "src/routes.py has 'route' in its path"),
        (["src/api/x.py"], "Rename", "src/api/x.py has 'api/' in its path"),
        (["src/api.py"], "Change a route", ""),
        ([], "payment", "the description mentions 'payment'"),
        ([], "", ""),
    ],
)
def test_the_rule_looks_at_the_number_of_files_at_words_and_at_paths(files, description, reason):
    assert GateRule().reason(files, description) == reason


def test_the_rule_is_the_users_choice():
    rule = GateRule(max_files=0, words=(), paths=())
    assert rule.reason(["a.py"], "auth") == "1 files of code changed, more than 0"


def test_a_review_is_read_with_all_its_fields():
    issue = {
        "file": "a.py",
        "line": 3,
        "severity": "critical",
        "category": "security",
        "message": "plaintext",
        "suggestion": "hash",
    }
    given = {
        "filesReviewed": ["a.py"],
        "issues": [issue],
        "overallScore": 3,
        "approved": False,
        "summary": "no",
    }
    review = parse_review("```json\n" + json.dumps(given) + "\n```")
    assert (review.files_reviewed, review.overall_score, review.approved) == (("a.py",), 3, False)
    assert str(review.issues[0]) == "critical security in a.py:3: plaintext (hash)"


def test_a_report_is_read_with_all_its_fields():
    given = {
        "checks": [{"name": "unit", "command": "pytest", "passed": False, "output": "1 failed"}],
        "passed": False,
        "blockers": ["unit"],
        "warnings": ["slow"],
    }
    report = parse_qa(json.dumps(given))
    assert (report.checks[0].command, report.blockers, report.warnings) == ("pytest", ("unit",), ("slow",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Looks good to me", "no reviews"),
        ('{"approved": "yes"}', "approved"),
        ('{"approved": true, "issues": [{"message": "x", "severity": "huge"}]}', "severity"),
        ('{"approved": true, "issues": [{"file": "x"}]}', "message"),
        ('{"approved": true} {"approved": false}', "2 different"),
    ],
)
def test_a_reply_that_is_no_review_says_where_it_is_wrong(text, message):
    with pytest.raises(ReplyError, match=message) as caught:
        parse_review(text)
    assert caught.value.raw == text
