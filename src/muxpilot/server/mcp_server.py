"""The application as an MCP server: handlers that translate, and nothing else."""

from __future__ import annotations

import base64
import functools
from contextlib import ExitStack
from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from muxpilot import __version__
from muxpilot.app import App
from muxpilot.dispatch import UnknownTool, incident
from muxpilot.errors import BadInput, MuxpilotError
from muxpilot.resources import ROWS, ResourceFailed
from muxpilot.server.channel import CAPABILITY, channel
from muxpilot.server.fast_json import Written
from muxpilot.server.instructions import INSTRUCTIONS
from muxpilot.server.prompts import PROMPTS
from muxpilot.server.subscriptions import in_time, ties
from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.context import Caller, unheard, unkept

RESOURCE_NOT_FOUND = -32002
_THE_LIST = ""  # no resource has this address
_WRONG_ERA = "This connection began with a handshake: requests with an envelope of their own are not taken."

Ctx = ServerRequestContext[Any]


class Face(Server[Any]):
    """One MCP server for one application."""

    def __init__(self, app: App) -> None:
        self._app = app
        super().__init__(
            "muxpilot",
            version=__version__,
            title="muxpilot",
            instructions=INSTRUCTIONS if app.dialect is None else app.dialect.instructions,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            **(self._beyond_tools() if app.dialect is None else {}),
        )
        # In place of telemetry that nobody here collects.
        self.middleware[:] = [_border, self._straight]

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> types.ServerCapabilities:
        capabilities = super().get_capabilities(NotificationOptions(resources_changed=True), *args, **kwargs)
        if self._app.settings.channel:
            capabilities.experimental = {**(capabilities.experimental or {}), **CAPABILITY}
        return capabilities

    def _beyond_tools(self) -> dict[str, Any]:
        """Resources and prompts, which speak of the native tools; a dialect has its tools alone."""
        return {
            "on_list_resources": self._list_resources,
            "on_list_resource_templates": self._list_templates,
            "on_read_resource": self._read_resource,
            "on_subscribe_resource": self._subscribe,
            "on_unsubscribe_resource": self._unsubscribe,
            "on_subscriptions_listen": self._listen,
            "on_list_prompts": self._list_prompts,
            "on_get_prompt": self._get_prompt,
        }

    @functools.cached_property
    def _tools(self) -> types.ListToolsResult:
        rows = [types.Tool.model_validate(tool.listing) for tool in self._app.dispatch.offered.values()]
        return types.ListToolsResult(tools=rows)

    async def _list_tools(self, ctx: Ctx, params: object) -> types.ListToolsResult:
        return self._tools

    async def _straight(self, ctx: Ctx, call_next: CallNext) -> HandlerResult:
        """A plain call of a tool skips four models that would be built and taken apart again."""
        if ctx.method == "tools/call" and _is_plain_call(ctx) and ctx.params is not None:
            return await self._called(ctx, ctx.params["name"], ctx.params.get("arguments"))
        return await call_next(ctx)

    async def _call_tool(self, ctx: Ctx, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult.model_validate(await self._called(ctx, params.name, params.arguments))

    async def _called(self, ctx: Ctx, name: str, arguments: dict[str, Any] | None) -> dict[str, Any]:
        told = channel(ctx.session) if self._app.settings.channel else None
        tied = ties(ctx, self._app.dispatch.watches)
        progress = unheard if progress_token_from_params(ctx.params) is None else ctx.session.report_progress
        caller = Caller(progress, told, tied.watch if tied else unkept)
        return _result(await self._app.dispatch.call(name, arguments or {}, caller))

    async def _list_resources(self, ctx: Ctx, params: object) -> types.ListResourcesResult:
        tied = ties(ctx, self._app.dispatch.watches)
        if tied is not None and not tied.follows_list:
            # From its first listing on, a client is told when the list is no longer true.
            tied.follows_list = True
            tell = in_time(ctx.session.send_resource_list_changed)
            tied.follow(_THE_LIST, await self._app.resources.follow_list(tell))
        entries = await self._app.resources.list()
        rows = [types.Resource(uri=row.uri, name=row.name, mime_type=row.mime) for row in entries]
        return types.ListResourcesResult(resources=rows)

    async def _list_templates(self, ctx: Ctx, params: object) -> types.ListResourceTemplatesResult:
        rows = [
            types.ResourceTemplate(uri_template=row.template, name=row.title, mime_type=row.mime)
            for row in ROWS
            if "{" in row.template and self._app.dispatch.is_readable(row.tool)
        ]
        return types.ListResourceTemplatesResult(resource_templates=rows)

    async def _read_resource(
        self, ctx: Ctx, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        mime, text = await self._app.resources.read(uri)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)]
        )

    async def _subscribe(self, ctx: Ctx, params: types.SubscribeRequestParams) -> types.EmptyResult:
        uri = str(params.uri)
        stop = await self._app.resources.follow(
            uri, functools.partial(ctx.session.send_resource_updated, uri)
        )
        tied = ties(ctx, self._app.dispatch.watches)
        if tied is None:
            stop()
        else:
            tied.follow(uri, stop)
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Ctx, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        tied = ties(ctx, self._app.dispatch.watches)
        if tied is not None:
            tied.unfollow(str(params.uri))
        return types.EmptyResult()

    async def _listen(
        self, ctx: Ctx, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """The modern way to subscribe: one stream, with a bus of its own, so that it is told everything once.

        What cannot be followed is left out of what we acknowledge."""
        bus, wanted = InMemorySubscriptionBus(), params.notifications
        with ExitStack() as stack:
            uris = []
            for uri in dict.fromkeys(wanted.resource_subscriptions or ()):
                tell = functools.partial(bus.publish, ResourceUpdated(uri=uri))
                try:
                    stack.callback(await self._app.resources.follow(uri, tell))
                except ResourceFailed:
                    continue
                uris.append(uri)
            if wanted.resources_list_changed:
                tell = functools.partial(bus.publish, ResourcesListChanged())
                stack.callback(await self._app.resources.follow_list(tell))
            honoured = types.SubscriptionFilter(
                resource_subscriptions=uris, resources_list_changed=wanted.resources_list_changed
            )
            return await ListenHandler(bus)(ctx, params.model_copy(update={"notifications": honoured}))

    async def _list_prompts(self, ctx: Ctx, params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_prompt(name) for name in PROMPTS])

    async def _get_prompt(self, ctx: Ctx, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = PROMPTS.get(params.name)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name[:100]}")
        text = prompt.filled(params.arguments or {})
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])


async def _border(ctx: Ctx, call_next: CallNext) -> HandlerResult:
    """Where our errors become the protocol's. The SDK would send the text of any other along."""
    if _is_of_the_other_era(ctx):
        raise MCPError(types.INVALID_REQUEST, _WRONG_ERA)
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except UnknownTool as unknown:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {str(unknown)[:100]}") from None
    except ResourceFailed as failed:
        code = RESOURCE_NOT_FOUND if failed.is_missing else types.INTERNAL_ERROR
        raise MCPError(code, str(failed)) from None
    except BadInput as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    except MuxpilotError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None
    except Exception:  # noqa: BLE001 - a mistake of ours must not end the server
        raise MCPError(types.INTERNAL_ERROR, incident(ctx.method)) from None


def _is_of_the_other_era(ctx: Ctx) -> bool:
    """A request with an envelope after a handshake, which only `Server.run` itself would notice."""
    meta = (ctx.params or {}).get("_meta")
    is_enveloped = isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta
    is_after_handshake = ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
    return is_enveloped and is_after_handshake and ctx.request_id is not None and ctx.method != "initialize"


def _is_plain_call(ctx: Ctx) -> bool:
    """After a handshake, of the only shape that it has; all else is the SDK's to judge."""
    params = ctx.params
    return (
        params is not None
        and ctx.session.client_params is not None
        and ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
        and params.keys() <= {"name", "arguments", "_meta"}
        and isinstance(params.get("name"), str)
        and isinstance(params.get("arguments", {}), dict)
        and isinstance(params.get("_meta", {}), dict)
    )


def _result(answer: Answer) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [_block(answer)], "isError": answer.is_error}
    if answer.structured is not None:
        result["structuredContent"] = Written(answer.structured, answer.text)
    return result


def _block(answer: Answer) -> dict[str, str]:
    if answer.png is not None:
        return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(answer.png).decode()}
    return {"type": "text", "text": answer.text}


def _prompt(name: str) -> types.Prompt:
    prompt = PROMPTS[name]
    arguments = [
        types.PromptArgument(name=row.name, description=row.description, required=row.is_required)
        for row in prompt.arguments
    ]
    return types.Prompt(name=name, description=prompt.description, arguments=arguments)
