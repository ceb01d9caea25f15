"""Scenarios in which files are edited, committed, deleted."""

from __future__ import annotations

from pathlib import Path

from _steps import OWNER, Reply, TableScenario, edit, shell, with_tools

from soundstage.runs import RunResult
from soundstage.scenarios import ScenarioSheet


class SimpleFileEdit(TableScenario):
    name = "simple-file-edit"
    sheet = ScenarioSheet(
        workspace="calc.py, whose add() subtracts",
        prompt="repair add()",
        output="calc.py adds; one file read, one edited",
        owner=OWNER,
    )
    files = {"calc.py": "def add(a, b):\n    return a - b\n"}
    prompt = "add() in calc.py subtracts. Repair it."

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return (
            ("I look at it first.", ("Read", {"file_path": f"{folder}/calc.py"})),
            ("", edit(folder / "calc.py", "a - b", "a + b")),
            ("add() adds now.",),
        )

    def assert_results(self, result: RunResult) -> None:
        assert result.status == "complete"
        assert [tool.name for tool in result.tools] == ["Read", "Edit"]
        assert {file.path: file.change for file in result.files} == {"calc.py": "modified"}
        assert result.output == "add() adds now."


class MultiFileRefactor(TableScenario):
    name = "multi-file-refactor"
    sheet = ScenarioSheet(
        workspace="a module, and two that use its function `load`",
        prompt="rename `load` to `read_file`",
        output="three files changed, each with its diff, in the order of the edits",
        owner=OWNER,
    )
    files = {
        "files.py": "def load(path):\n    return open(path).read()\n",
        "words.py": "from files import load\n\n\ndef words(path):\n    return load(path).split()\n",
        "lines.py": "from files import load\n\n\ndef lines(path):\n    return load(path).splitlines()\n",
    }
    prompt = "Rename load() to read_file(), everywhere."

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        reads = [("Read", {"file_path": f"{folder}/{name}"}) for name in self.files]
        everywhere = {"old_string": "load", "new_string": "read_file", "replace_all": True}
        edits = [("Edit", {"file_path": f"{folder}/{name}", **everywhere}) for name in self.files]
        return (("I read all of them.", *reads), *(("", one) for one in edits), ("Renamed in three files.",))

    def assert_results(self, result: RunResult) -> None:
        assert [file.path for file in result.files] == list(self.files)
        assert all("read_file" in patch for file in result.files for patch in file.patches)
        assert [tool.name for tool in result.tools] == ["Read"] * 3 + ["Edit"] * 3


class GitCommitWorkflow(TableScenario):
    name = "git-commit-workflow"
    sheet = ScenarioSheet(
        workspace="a repository with calc.py and one commit",
        prompt="repair add() and commit it",
        output="a commit `fix: add adds`, with its author and its file",
        owner=OWNER,
    )
    files = SimpleFileEdit.files
    git = True
    prompt = "add() in calc.py subtracts. Repair it and commit."
    options = with_tools("Bash(git *)")

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return (
            ("", ("Read", {"file_path": f"{folder}/calc.py"})),
            ("", edit(folder / "calc.py", "a - b", "a + b")),
            ("", shell("git add calc.py && git commit --quiet -m 'fix: add adds'")),
            ("Repaired and committed.",),
        )

    def assert_results(self, result: RunResult) -> None:
        (commit,) = result.commits
        assert (commit.subject, commit.files) == ("fix: add adds", ("calc.py",))
        assert commit.author == "Test <test@soundstage.invalid>"
        assert "+    return a + b" in result.files[0].patches[0]


class FileDeletion(TableScenario):
    name = "file-deletion"
    sheet = ScenarioSheet(
        workspace="notes.txt and old.txt",
        prompt="delete old.txt",
        output="old.txt is gone; its content is kept as that before",
        owner=OWNER,
    )
    files = {"notes.txt": "to keep\n", "old.txt": "to delete\n"}
    prompt = "Delete old.txt."
    options = with_tools("Bash(rm *)")

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return (("", shell("rm old.txt")), ("It is gone.",))

    def assert_results(self, result: RunResult) -> None:
        (file,) = result.files
        assert (file.path, file.change, file.after) == ("old.txt", "deleted", None)
        assert file.before is not None
        assert file.before.text() == "to delete\n"


class LargeChange(TableScenario):
    name = "large-change-100-files"
    sheet = ScenarioSheet(
        workspace="100 modules with the same old name",
        prompt="rename it in all of them",
        output="100 files changed, each with its diff",
        owner=OWNER,
    )
    files = {
        **{f"src/m{number:02}/part.py": f"OLD = {number}\n" for number in range(100)},
        "rename.sh": "for file in src/m$1?/part.py; do sed -i s/OLD/NEW/ $file; done\n",
    }
    prompt = "Rename OLD to NEW in all modules."
    options = with_tools("Bash(sh rename.sh *)")

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        packs = [shell(f"sh rename.sh {tens}") for tens in range(10)]
        return (*(("", one) for one in packs), ("Renamed in 100 files.",))

    def assert_results(self, result: RunResult) -> None:
        assert len(result.files) == 100
        assert all(file.change == "modified" and file.changes == 1 for file in result.files)
        assert len(result.tools) == 10
