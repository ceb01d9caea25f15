"""The mark `validates`: its sentence stands in each failure, and whoever wants one for each test hears who has none."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

FAILING = """
import pytest
from soundstage import HostBuilder

async def echo(world):
    while (line := await world.console.read_line()) is not None:
        world.console.write_line(line)

@pytest.mark.validates("an empty cart costs nothing")
def test_raises():
    assert 1 == 2

@pytest.mark.validates("the shop greets")
class TestShop:
    @pytest.mark.validates("and says good bye")
    async def test_in_a_run(self, run_app, console):
        await run_app(echo)
        await console.send("hello")
        await console.expect("good bye", within=1)

@pytest.mark.validates("what pytest tells without a traceback has it, too")
def test_without_a_traceback():
    pytest.fail("no", pytrace=False)

@pytest.mark.validates("a fixture that is missing has it, too")
def test_without_its_fixture(no_such_fixture): pass

@pytest.mark.xfail(strict=True)
@pytest.mark.validates("a surprise has it, too")
def test_passes_unexpectedly(): pass

@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.validates("two is too many"))])
def test_one_of_two(n):
    assert n == 0

@pytest.mark.validates("a test that passes keeps it to itself")
def test_passes(): pass

@pytest.mark.validates("a test that is skipped keeps it, too")
def test_skipped(): pytest.skip("not today")

def test_without_a_sentence():
    assert 1 == 3
"""
SAID = {
    "test_raises": "an empty cart costs nothing",
    "test_in_a_run": "and says good bye\nthe shop greets",
    "test_without_a_traceback": "what pytest tells without a traceback has it, too",
    "test_without_its_fixture": "a fixture that is missing has it, too",
    "test_passes_unexpectedly": "a surprise has it, too",
    "test_one_of_two[1]": "",
    "test_one_of_two[2]": "two is too many",
    "test_without_a_sentence": "",
}


@pytest.mark.parametrize(
    "workers",
    [(), pytest.param(("-p", "xdist", "-n", "1"), marks=pytest.mark.full)],
    ids=["one process", "a worker"],
)
def test_a_failure_says_the_sentence_in_the_terminal_in_junit_and_on_the_page(pytester, workers):
    pytester.makepyfile(test_it=FAILING)
    options = ("-p", "no:randomly", "-p", "no:cacheprovider", "--soundstage-html", "pages", *workers)
    result = pytester.runpytest_subprocess("--junitxml=out.xml", *options)
    result.assert_outcomes(failed=7, passed=1, skipped=1, errors=1)
    shown = result.stdout.str()
    cases = {
        case.get("name"): "".join(
            element.text or "" for element in (*case.iter("failure"), *case.iter("error"))
        )
        for case in ET.parse(pytester.path / "out.xml").iter("testcase")
    }
    for name, sentence in SAID.items():
        for line in sentence.splitlines():
            assert line in cases[name]
            assert line in shown
        told = re.search(r"^(-+ validates -+$|validates: )", cases[name], re.MULTILINE)
        assert bool(told) == bool(sentence), name
    assert "keeps it to itself" not in shown
    (page,) = [path for path in (pytester.path / "pages").glob("*.html") if "in_a_run" in path.name]
    assert "and says good bye" in page.read_text()


def test_a_file_that_knows_nothing_of_soundstage_says_its_sentences_too(pytester):
    pytester.makepyfile(
        'import pytest\n@pytest.mark.validates("one is two")\ndef test_it():\n    assert 1 == 2\n'
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*--- validates ---*", "one is two"])


GROUPS = """
import pytest

@pytest.mark.validates("a test with a sentence is left alone")
def test_with(): pass

@pytest.mark.parametrize("n", [1, 2])
def test_without(n): pass

class TestGroup:
    def test_of_a_group(self): pass

@pytest.mark.validates("one sentence is enough for a group")
class TestSaid:
    def test_of_a_said_group(self): pass
"""


def collect(pytester, text, *options):
    pytester.makepyfile(test_it=text, test_other="def test_elsewhere(): pass")
    return pytester.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider", *options)


def test_each_test_without_a_sentence_is_named_where_one_is_required(pytester):
    result = collect(pytester, GROUPS, "--soundstage-require-validates")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    named = set(
        re.findall(r"^  (test_\S+)$", result.stdout.str(), re.MULTILINE)
    )  # in CI the summary has them, too
    assert sorted(named) == [
        "test_it.py::TestGroup::test_of_a_group",
        "test_it.py::test_without",
        "test_other.py::test_elsewhere",
    ]
    result.stdout.fnmatch_lines(['*write `@pytest.mark.validates("...")`*above:'])


def test_without_the_option_no_sentence_is_required(pytester):
    result = collect(pytester, GROUPS, "--strict-markers")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["test_it.py::test_without?1?"])


@pytest.mark.full
def test_workers_that_collect_name_the_tests_as_well(pytester):
    result = collect(pytester, GROUPS)
    result = pytester.runpytest_subprocess(
        "-p", "xdist", "-n", "2", "-p", "no:cacheprovider", "--soundstage-require-validates"
    )
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*test_it.py::test_without"])


@pytest.mark.parametrize(
    "mark",
    [
        'validates("")',
        'validates("  ")',
        "validates()",
        "validates",
        "validates(3)",
        'validates("a", "b")',
        'validates("a", why="b")',
    ],
)
def test_a_mark_without_one_sentence_is_refused(pytester, mark):
    result = collect(pytester, f"import pytest\n@pytest.mark.{mark}\ndef test_a(): pass\n")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*one sentence that is not empty*", "  test_it.py::test_a"])
