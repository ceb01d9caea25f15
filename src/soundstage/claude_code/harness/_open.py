"""How a conversation is opened: script, folder, plugins, stubs; then the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from soundstage.claude_code.harness._conversation import Config, OpenConversation
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._models import read_script
from soundstage.claude_code.harness._stages import check_workflow
from soundstage.clock import IdSource
from soundstage.errors import ScriptError
from soundstage.models import ScriptedModel


async def open_conversation(harness: Harness, config: Config, *, listed: bool = True) -> OpenConversation:
    """A new conversation of this client.

    Args:
        harness: the client's.
        config: what it was told.
        listed: whether clients may name it; one that a tool needs for a moment is nobody else's business.

    Raises:
        ScriptError: if the script, a folder or an option is wrong; nothing has been started then.
    """
    check_workflow(config.workflow)
    model = ScriptedModel(
        read_script(config.script, strict=config.strict),
        ids=IdSource(harness.ids.seed + len(harness.journal)),
    )
    folders = [_plugin_folder(folder.path) for folder in config.plugin_dirs]
    project = config.project_path.path if config.project_path is not None else None
    claude = await harness.claude()
    session_id = harness.ids.uuid()
    if project is None:
        project = harness.scratch_projects / session_id[:8]
        project.mkdir()
    servers = await harness.declared_servers(*folders) if harness.stubs else []
    stubs = harness.stubs.options(servers, config.settings)
    begin = len(harness.journal)
    harness.models.add(session_id, model)
    try:
        session = await claude.open(
            cwd=project, session_id=session_id, plugin_dirs=tuple(folders), **stubs, **_options(config)
        )
    except BaseException:
        harness.models.remove(session_id)
        raise
    conversation = OpenConversation(session, config, project, model, begin, [])
    if listed:
        harness.conversations[session_id] = conversation
    return conversation


def _options(config: Config) -> dict[str, Any]:
    return {
        "permission_mode": config.permission_mode,
        "allowed_tools": config.allowed_tools,
        "model": config.model,
        "max_turns": config.max_turns,
        "agent": config.agent,
    }


def _plugin_folder(found: Path) -> Path:
    manifest = found / ".claude-plugin" / "plugin.json"
    if not manifest.is_file() and not any(found.glob("*/.claude-plugin/plugin.json")):
        raise ScriptError(
            "this folder is no plugin",
            expected=f"a file {manifest}",
            seen="no such file",
            hint="give the folder of the plugin itself, or a folder of plugins",
        )
    return found
