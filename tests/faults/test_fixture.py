"""The fixture and the mark `faults`: a sweep in a test, its failure, and one case alone."""

from __future__ import annotations

import pytest

from soundstage.clock import run
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, ScriptedModel, complete
from soundstage.tapes import RecordingModel, Tape

HEAD = """
    import pytest
    from soundstage.messages import ModelRequest, user
    from soundstage.models import complete

    async def agent(model):
        return (await complete(model, ModelRequest(model="m", messages=(user("hello"),)))).text

"""


@pytest.fixture
def sweep_in_a_test(pytester):
    """Runs a test with the given body, in a process of its own."""

    def go(body, *options):
        pytester.makeini(
            "[pytest]\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist --strict-markers\n"
        )
        pytester.makepyfile(HEAD + body)
        return pytester.runpytest_subprocess(*options)

    return go


def test_a_test_fails_with_the_table_and_the_command_for_one_case(sweep_in_a_test):
    done = sweep_in_a_test(
        """
    @pytest.mark.faults(seed=7)
    def test_it(script, faults):
        script.on(user="hello").reply("hi")
        faults(agent)
"""
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*!  1:stall*7*hung*", "*!  1:empty*7*wrong result*nothing came out*"])
    done.stdout.fnmatch_lines(["*again: pytest 'test_*.py::test_it' --soundstage-fault 1:stall*"])
    assert "no app could ask" not in done.stdout.str(), "the sweep has asked the script"


def test_one_case_runs_alone_and_the_options_of_the_mark_hold(sweep_in_a_test):
    done = sweep_in_a_test(
        """
    @pytest.mark.faults(allow=("survived", "gave up", "hung"))
    def test_it(script, faults):
        script.on(user="hello").reply("hi")
        assert [row.case for row in faults(agent).rows] == ["1:stall"]
""",
        "--soundstage-fault=1:stall",
    )
    done.assert_outcomes(passed=1)


def test_a_tape_beside_the_test_is_swept(sweep_in_a_test, pytester):
    script, tape = Script(), Tape()
    script.otherwise("hi")
    asked = ModelRequest(model="m", messages=(user("hello"),))
    run(complete(RecordingModel(ScriptedModel(script), tape), asked))
    (pytester.path / "tapes").mkdir()
    tape.save(pytester.path / "tapes" / "hello.tape")
    done = sweep_in_a_test(
        """
    @pytest.mark.faults(source="tapes/hello.tape", kinds=["empty"])
    def test_it(faults):
        faults(agent)
"""
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*!  1:empty*wrong result*nothing came out*"])
    done.stdout.fnmatch_lines(["*again: pytest 'test_*.py::test_it' --soundstage-fault 1:empty*"])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("    @pytest.mark.faults\n    def test_it(script):\n        pass\n", "does not ask for the fixture"),
        ("    async def test_it(script, faults):\n        faults(agent)\n", "write def test_it"),
        ("    def test_it(faults):\n        faults(len)\n", "an asynchronous function that takes a model"),
        (
            "    @pytest.mark.tape\n    @pytest.mark.faults\n    def test_it(faults):\n        pass\n",
            "write @pytest.mark.faults(source='x.tape') alone",
        ),
        ("    @pytest.mark.faults(kind=1)\n    def test_it(faults):\n        pass\n", "did you mean 'kinds'"),
    ],
    ids=["no fixture", "asynchronous", "no agent", "two sources", "an unknown option"],
)
def test_a_wrong_use_is_named_with_what_to_write(sweep_in_a_test, body, said):
    done = sweep_in_a_test(body)
    assert done.ret != 0
    assert said in done.stdout.str() + done.stderr.str()
