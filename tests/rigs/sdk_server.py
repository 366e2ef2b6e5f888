"""The same application behind the SDK's own server and stdio transport: `python sdk_server.py --socket PATH`.

Tests compare its answers with ours.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from muxpilot import __version__
from muxpilot.app import App, build
from muxpilot.calls import UnknownTool
from muxpilot.config.environment import variables
from muxpilot.config.flags import load_settings
from muxpilot.errors import BadInput
from muxpilot.resources import ResourceFailed
from muxpilot.server.instructions import INSTRUCTIONS
from muxpilot.server.prompts import PROMPTS


class SdkServer(Server[Any]):
    """Our application, as the SDK would serve it."""

    def __init__(self, app: App) -> None:
        self._app = app
        super().__init__(
            "muxpilot",
            version=__version__,
            title="muxpilot",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resource_templates=self._list_templates,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )

    async def _list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        rows = [types.Tool.model_validate(row) for row in self._app.dispatch.list_tools()]
        return types.ListToolsResult(tools=rows)

    async def _call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = await self._app.dispatch.call(params.name, params.arguments or {})
        except UnknownTool as unknown:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {unknown}") from None
        block = types.TextContent(type="text", text=answer.text)
        return types.CallToolResult(
            content=[block], is_error=answer.is_error, structured_content=answer.structured
        )

    async def _list_resources(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=row.uri, name=row.name, description=row.description, mime_type=row.mime)
                for row in await self._app.resources.list()
            ]
        )

    async def _list_templates(self, ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
        rows = [
            types.ResourceTemplate(
                uri_template=row.template, name=row.title, description=row.description, mime_type=row.mime
            )
            for row in self._app.resources.rows
            if "{" in row.template
        ]
        return types.ListResourceTemplatesResult(resource_templates=rows)

    async def _read_resource(
        self, ctx: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            mime, text = await self._app.resources.read(uri)
        except ResourceFailed as failed:
            is_modern = ctx.protocol_version == "2026-07-28"
            raise MCPError(-32602 if is_modern else -32002, str(failed), {"uri": uri}) from None
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)]
        )

    async def _list_prompts(self, ctx: Any, params: Any) -> types.ListPromptsResult:
        rows = [types.Prompt.model_validate(prompt.listing) for prompt in PROMPTS.values()]
        return types.ListPromptsResult(prompts=rows)

    async def _get_prompt(self, ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = PROMPTS.get(params.name)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, "Unknown prompt")
        try:
            text = prompt.fill(params.arguments or {})
        except BadInput as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])


async def main() -> None:
    app = build(load_settings(variables(), socket=sys.argv[2]))
    server = SdkServer(app)
    options = server.create_initialization_options(NotificationOptions(resources_changed=True))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, options)
    await app.close()


if __name__ == "__main__":
    asyncio.run(main())
