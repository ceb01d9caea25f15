"""The fixture `prompt_snapshot`, in runs of pytest of their own."""

from __future__ import annotations

import pytest

OPTIONS = "-p xdist.plugin -p no:cacheprovider"
TWO = """
    def test_a(prompt_snapshot):
        prompt_snapshot("You are terse.")

    def test_b(prompt_snapshot):
        prompt_snapshot("one", name="first")
        prompt_snapshot("two", name="second")
"""


@pytest.fixture
def inner(pytester):
    """Runs a test file in a pytest of its own."""
    pytester.makeini(f"[pytest]\nfilterwarnings = error\naddopts = {OPTIONS}\n")

    def go(text, *options, name="test_it"):
        if text:
            pytester.makepyfile(**{name: text})
        return pytester.runpytest_subprocess(*options)

    return go


def files(pytester, name="test_it"):
    return sorted(path.name for path in (pytester.path / "__snapshots__" / name).glob("*"))


def test_a_missing_snapshot_fails_says_how_to_create_it_and_writes_nothing(inner, pytester):
    result = inner(TWO)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*no snapshot test_a.txt yet*", "*next step:*pytest --soundstage-update*"])
    result.stdout.no_fnmatch_line("*def assert_snapshot*")  # the traceback ends in the test
    assert not (pytester.path / "__snapshots__").exists()


def test_the_flag_creates_and_updates_and_the_summary_counts(inner, pytester):
    result = inner(TWO, "--soundstage-update")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["soundstage: 3 snapshot(s) created"])
    assert files(pytester) == ["test_a.txt", "test_b.first.txt", "test_b.second.txt"]
    again = inner("")
    again.assert_outcomes(passed=2)
    again.stdout.no_fnmatch_line("*snapshot*")
    changed = TWO.replace("terse", "verbose")
    drifted = inner(changed)
    drifted.assert_outcomes(passed=1, failed=1)
    drifted.stdout.fnmatch_lines(["*-You are terse.*", "*+You are verbose.*", "*--soundstage-update*"])
    inner("", "--soundstage-update").stdout.fnmatch_lines(["soundstage: 1 snapshot(s) updated"])
    inner("").assert_outcomes(passed=2)


def test_tests_of_the_same_name_do_not_share_a_snapshot(inner, pytester):
    text = """
        import pytest

        class TestOne:
            def test_x(self, prompt_snapshot):
                prompt_snapshot("one")

        class TestTwo:
            def test_x(self, prompt_snapshot):
                prompt_snapshot("two")

        @pytest.mark.parametrize("value", ["a/b", "a_b", "A_B", "../up", "x" * 200, "x" * 201, "ü", ""])
        def test_x(prompt_snapshot, value):
            prompt_snapshot(value)
            prompt_snapshot(value + "!")
    """
    (pytester.path / "below").mkdir()
    (pytester.path / "below" / "test_other.py").write_text(
        "def test_x(prompt_snapshot): prompt_snapshot('other')"
    )
    inner(text, "--soundstage-update").assert_outcomes(passed=11)
    inner("").assert_outcomes(passed=11)
    assert len({name.casefold() for name in files(pytester)}) == 2 + 8 * 2
    assert "TestOne.test_x.txt" in files(pytester)
    assert (pytester.path / "below" / "__snapshots__" / "test_other" / "test_x.txt").exists()
    assert all(len(name) < 200 for name in files(pytester))


def test_names_that_lead_out_of_the_folder_or_are_used_twice_are_refused(inner, pytester):
    result = inner(
        """
        import pytest

        from soundstage.errors import ScriptError

        HOSTILE = ["../up", "/etc/x", "a/b", "a\\\\b", ".hidden", "x.", " x", "a\\0b", "a\\nb", "x" * 81, "ü", 7]

        def test_hostile(prompt_snapshot):
            for name in HOSTILE:
                with pytest.raises(ScriptError, match="no name for a snapshot"):
                    prompt_snapshot("x", name=name)

        def test_twice(prompt_snapshot):
            prompt_snapshot("x", name="Same")
            with pytest.raises(ScriptError, match="two snapshots"):
                prompt_snapshot("y", name="same")
        """,
        "--soundstage-update",
    )
    result.assert_outcomes(passed=2)
    assert files(pytester) == ["test_twice.Same.txt"]


def test_what_nobody_checks_is_reported_after_a_whole_run_and_only_then(inner, pytester):
    inner(TWO, "--soundstage-update")
    inner("def test_c(prompt_snapshot): prompt_snapshot('c')", "--soundstage-update", name="test_gone")
    (pytester.path / "test_gone.py").unlink()
    one = "def test_a(prompt_snapshot):\n    prompt_snapshot('You are terse.')\n"
    result = inner(one)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*snapshots that no test checks*",
            "__snapshots__/test_gone/test_c.txt",
            "__snapshots__/test_it/test_b.first.txt",
            "__snapshots__/test_it/test_b.second.txt",
            "next step: *",
        ]
    )
    assert len(files(pytester)) == 3
    pytester.makepyfile(test_it=TWO)
    (pytester.path / "__snapshots__" / "test_gone" / "test_c.txt").unlink()
    for selection in (["-k", "test_a"], ["test_it.py::test_a"], ["--deselect", "test_it.py::test_b"]):
        inner("", *selection).stdout.no_fnmatch_line("*no test checks*")
    pytester.makeconftest(
        """
        def pytest_collection_modifyitems(config, items):
            config.hook.pytest_deselected(items=[items.pop()])
        """
    )
    inner("").stdout.no_fnmatch_line("*no test checks*")
    pytester.makeconftest("")
    skipping = f"{one}\nimport pytest\ndef test_b(): pytest.skip('not here')\n"
    inner(skipping).stdout.no_fnmatch_line("*no test checks*")


def test_several_processes_write_and_report_like_one(inner, pytester):
    many = """
        import pytest

        @pytest.mark.parametrize("number", range(20))
        @pytest.mark.xdist_group("all")
        def test_many(prompt_snapshot, number):
            prompt_snapshot(f"text {number}")
    """
    result = inner(many, "--soundstage-update", "-n", "2")
    result.assert_outcomes(passed=20)
    result.stdout.fnmatch_lines(["soundstage: 20 snapshot(s) created"])
    (pytester.path / "__snapshots__" / "test_it" / "old.txt").write_text("old\n")
    grouped = inner("", "-n", "2", "--dist", "loadgroup")
    grouped.assert_outcomes(passed=20)
    grouped.stdout.fnmatch_lines(["__snapshots__/test_it/old.txt"])
    assert len(files(pytester)) == 21


def test_a_request_of_an_asynchronous_test_on_virtual_time_can_be_a_snapshot(inner, pytester):
    text = """
        from soundstage.messages import ModelRequest, user
        from soundstage.models import complete
        from soundstage.journal import ModelRequested

        async def test_it(prompt_snapshot, script, model, journal, tmp_path):
            script.on(user="hello").reply("hi")
            await complete(model, ModelRequest(model="m", messages=(user(f"hello {tmp_path}"),)))
            [asked] = [r.event for r in journal.read() if isinstance(r.event, ModelRequested)]
            prompt_snapshot(asked.request, replace={tmp_path: "<folder>"})
    """
    inner(text, "--soundstage-update").assert_outcomes(passed=1)
    inner("").assert_outcomes(passed=1)
    stored = (pytester.path / "__snapshots__" / "test_it" / "test_it.txt").read_text()
    assert stored == "model: m\n=== user\n  hello <folder>\n"
