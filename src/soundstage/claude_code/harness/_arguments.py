"""The arguments that several tools have, with what an agent is told about them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from soundstage.claude_code.harness._paths import ProjectFolder

SessionId = Annotated[str, Meta(min_length=1, description="Session id from start_conversation.")]
PluginName = Annotated[
    str,
    Meta(
        min_length=1,
        description="The plugin's name as its marketplace lists it, or name@marketplace.",
        examples=["agent-loop", "agent-loop@my-marketplace"],
    ),
]
ProjectPath = Annotated[
    ProjectFolder,
    Meta(
        description="Folder of the project, below the harness's folder for projects; a relative path is enough."
    ),
]
StageName = Annotated[
    str, Meta(min_length=1, description="A workflow stage, in any case.", examples=["idle", "exploring"])
]
ServerId = Annotated[str, Meta(min_length=1, description="Server id from start_mcp_server.")]
Seconds = Annotated[float, Meta(gt=0, le=600, description="Seconds that it may take.")]
