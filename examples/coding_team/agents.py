"""The team: who may do what, with which tools, for how long.

| agent        | read | write | execute | web |
|--------------|------|-------|---------|-----|
| search       | yes  |       |         |     |
| research     | yes  |       |         | yes |
| code         | yes  | yes   |         |     |
| test         | yes  | yes   | yes     |     |
| init         | yes  |       |         |     |
| review       | yes  |       |         |     |
| qa           | yes  |       | yes     |     |
| docs         | yes  | yes   |         |     |
| orchestrator | yes  |       |         |     |

The orchestrator is told of the others and has no tools; it is not an agent that can be planned for.
"""

from __future__ import annotations

from examples.coding_team import prompts
from soundstage.agents.runtime import AgentDefinition

READ = ("read_file", "glob", "grep")
WRITE = ("read_file", "write_file", "edit_file", "glob", "grep")

AGENTS = (
    AgentDefinition(
        slug="search",
        name="Search",
        description="finds code, files and uses in the project",
        prompt=prompts.SEARCH,
        permissions=frozenset({"read"}),
        tools=(*READ, "tree_view", "git_diff", "repo_map"),
        timeout=60,
        max_timeout=120,
    ),
    AgentDefinition(
        slug="research",
        name="Research",
        description="answers from the web: documentation of libraries, known problems, standards",
        prompt=prompts.RESEARCH,
        permissions=frozenset({"read", "web"}),
        tools=(*READ, "web_fetch"),
        timeout=45,
        max_timeout=120,
        model_suffix=":online",
    ),
    AgentDefinition(
        slug="code",
        name="Code",
        description="writes and changes code; cannot run it",
        prompt=prompts.CODE,
        permissions=frozenset({"read", "write"}),
        tools=(*WRITE, "repo_map"),
        timeout=120,
        max_timeout=300,
        conventions=True,
    ),
    AgentDefinition(
        slug="test",
        name="Test",
        description="writes tests and runs them",
        prompt=prompts.TEST,
        permissions=frozenset({"read", "write", "execute"}),
        tools=(*WRITE, "bash"),
        timeout=180,
        max_timeout=600,
    ),
    AgentDefinition(
        slug="init",
        name="Init",
        description="describes a project that nobody has described yet",
        prompt=prompts.INIT,
        permissions=frozenset({"read"}),
        tools=(*READ, "tree_view"),
        timeout=120,
        max_timeout=300,
        max_output_tokens=16_384,
        project_context=False,
    ),
    AgentDefinition(
        slug="review",
        name="Review",
        description="judges a change without running it",
        prompt=prompts.REVIEW,
        permissions=frozenset({"read"}),
        tools=(*READ, "git_diff", "repo_map"),
        timeout=60,
        max_timeout=120,
        conventions=True,
    ),
    AgentDefinition(
        slug="qa",
        name="QA",
        description="runs build, lint and tests and says whether a change holds",
        prompt=prompts.QA,
        permissions=frozenset({"read", "execute"}),
        tools=(*READ, "bash", "git_diff"),
        timeout=120,
        max_timeout=300,
    ),
    AgentDefinition(
        slug="docs",
        name="Docs",
        description="writes and corrects documentation",
        prompt=prompts.DOCS,
        permissions=frozenset({"read", "write"}),
        tools=("read_file", "write_file", "edit_file", "glob"),
        timeout=60,
        max_timeout=120,
    ),
)

ORCHESTRATOR = AgentDefinition(
    slug="orchestrator",
    name="Orchestrator",
    description="plans and hands out the work",
    prompt=prompts.ORCHESTRATOR.format(
        agents="\n".join(f"- {agent.slug}: {agent.description}" for agent in AGENTS)
    ),
    permissions=frozenset({"read"}),
    timeout=120,
    max_timeout=300,
)
