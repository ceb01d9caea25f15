"""MCP servers for tests: scripted, recorded, replayed, and failing on request, over HTTP and stdio.

`McpServer` is a server whose tools answer by rules; an agent connects with it as with any other. Every call is in
the journal. `RecordingMcpServer` stands before a real server and writes a tape, `ReplayMcpServer` plays one.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[mcp]")
