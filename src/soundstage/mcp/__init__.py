"""MCP servers for tests: scripted, and failing on request, over HTTP and stdio; clients of real ones.

`McpServer` is a server whose tools answer by rules; an agent connects with it as with any other. Every call is in
the journal. `soundstage.tapes` records real servers and replays them.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[mcp]")
