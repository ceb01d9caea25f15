from ._answer import (
    ToolAnswer as ToolAnswer,
)
from ._answer import (
    text_of as text_of,
)
from ._backend import Served as Served
from ._call import (
    McpCall as McpCall,
)
from ._call import (
    this_call as this_call,
)
from ._catalog import McpTool as McpTool
from ._client import Upstream as Upstream
from ._config import (
    claude_tool as claude_tool,
)
from ._config import (
    mcp_json as mcp_json,
)
from ._config import (
    server_entries as server_entries,
)
from ._config import (
    split_claude_tool as split_claude_tool,
)
from ._daemon import McpDaemon as McpDaemon
from ._events import (
    McpClientAnswered as McpClientAnswered,
)
from ._events import (
    McpClientAsked as McpClientAsked,
)
from ._events import (
    McpConnectionChanged as McpConnectionChanged,
)
from ._events import (
    McpFaultChanged as McpFaultChanged,
)
from ._events import (
    McpMessageRefused as McpMessageRefused,
)
from ._events import (
    McpMismatched as McpMismatched,
)
from ._events import (
    McpNotified as McpNotified,
)
from ._events import (
    McpProbed as McpProbed,
)
from ._events import (
    McpServed as McpServed,
)
from ._events import (
    McpToolCalled as McpToolCalled,
)
from ._events import (
    McpToolReturned as McpToolReturned,
)
from ._events import (
    McpToolsChanged as McpToolsChanged,
)
from ._file import (
    load_mcp_script as load_mcp_script,
)
from ._file import (
    mcp_script_problems as mcp_script_problems,
)
from ._file import (
    mcp_script_schema as mcp_script_schema,
)
from ._hostile import hostile_text as hostile_text
from ._http_client import McpHttpClient as McpHttpClient
from ._jsonrpc import INTERNAL_ERROR as INTERNAL_ERROR
from ._jsonrpc import RpcError as RpcError
from ._process import (
    McpProbe as McpProbe,
)
from ._process import (
    McpProcess as McpProcess,
)
from ._process import (
    McpStarted as McpStarted,
)
from ._process import (
    McpStopped as McpStopped,
)
from ._process import (
    start_mcp_server as start_mcp_server,
)
from ._protocol import CALL as CALL
from ._protocol import LISTS as LISTS
from ._real import real_server as real_server
from ._script import McpScript as McpScript
from ._server import McpServer as McpServer
from ._stubs import McpStubs as McpStubs
