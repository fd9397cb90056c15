"""The least that a server on this SDK can be: one tool over stdio. The baseline of start and memory."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool


async def list_tools(_: Any, __: Any) -> ListToolsResult:  # noqa: ANN401 - nothing is read
    """One tool."""
    return ListToolsResult(tools=[Tool(name="echo", description="Say it again.", input_schema={"type": "object"})])


async def call_tool(_: Any, call: Any) -> CallToolResult:  # noqa: ANN401 - as above
    """Its answer."""
    return CallToolResult(content=[TextContent(type="text", text=str(call.arguments))])


async def serve() -> None:
    """Serve it until the input ends."""
    server: Server[Any] = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve)
