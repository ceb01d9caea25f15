"""The harness as tools for agents: they test a plugin of Claude Code end to end over MCP."""
