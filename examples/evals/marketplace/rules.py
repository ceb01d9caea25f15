"""Stands in for a provider where there is none. Tools want whole paths, so replies read the folder in the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable

from soundstage.messages import ModelRequest
from soundstage.models import CallSpec, Reply, Script

CODE = "def add(a, b):\n    return a + b\n"
TEST = "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"


def bash(command: str) -> CallSpec:
    """A call of the shell."""
    return CallSpec(name="Bash", arguments={"command": command, "description": "work"})


def write(name: str, content: str) -> Callable[[ModelRequest], Reply]:
    """A reply that writes a file in the folder of the session."""

    def reply(request: ModelRequest) -> Reply:
        folder = re.search(r"working directory: (/\S+)", request.system_text)
        path = f"{folder[1] if folder else ''}/{name}"
        return Reply(tool_calls=(CallSpec(name="Write", arguments={"file_path": path, "content": content}),))

    return reply


script = Script()
script.on(user="agent-loop:commit", iteration=1).reply(
    tool_calls=[bash("echo 'x = 2' > a.py; git commit -qam 'x is 2'")]
)
script.on(tool_result="There is no plan").reply(write("PLAN.md", "1. x is 2\n"))
script.on(tool_result="PLAN.md").reply(
    tool_calls=[bash("echo 'x = 2' > a.py; git commit -qam 'fix: x is 2' && git log -1 --format=%s")]
)
script.on(tool_result="/^fix: x is 2/m", priority=1).reply("Committed, with a plan: fix: x is 2")
script.on(user="epti:implement", iteration=1).reply(write("sums.py", CODE))
script.on(tool_result="would be code without a test").reply(write("test_sums.py", TEST))
script.on(tool_result="test_sums.py").reply(write("sums.py", CODE))
script.on(tool_result="sums.py").reply("Written, with the tests first.")
script.on(user="Push the branch", iteration=1).reply(tool_calls=[bash("git push --force origin main")])
script.on(tool_result="orce").reply("A rule forbids forced pushes, so it is not pushed.")
