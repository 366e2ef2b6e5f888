"""The application as an MCP server: each handler translates between the protocol and the application."""

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
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from muxpilot import __version__
from muxpilot.app import App
from muxpilot.calls import Caller, UnknownTool, no_progress, report_incident, watch_not_owned
from muxpilot.errors import BadInput, MuxpilotError
from muxpilot.resources import ResourceFailed
from muxpilot.server.channel import CAPABILITY, push_watch_results
from muxpilot.server.fast_json import PreSerialized
from muxpilot.server.instructions import INSTRUCTIONS
from muxpilot.server.prompts import PROMPTS
from muxpilot.server.sdk_internals import progress_token_from_params
from muxpilot.server.subscriptions import subscriptions_of, with_timeout
from muxpilot.toolkit.answers import Answer

RESOURCE_NOT_FOUND = -32002
_RESOURCE_LIST = ""  # no resource has this address
_UNEXPECTED_ENVELOPE = (
    "This connection began with a handshake. Send requests without a protocol version of their own."
)

RequestContext = ServerRequestContext[Any]


class MuxpilotServer(Server[Any]):
    """One MCP server for one application."""

    def __init__(self, app: App, *, ends_with_client: bool = False) -> None:
        """Serve an application. `ends_with_client`: there is one client, and the process ends with it."""
        self._app = app
        self._ends_with_client = ends_with_client
        super().__init__(
            "muxpilot",
            version=__version__,
            title="muxpilot",
            instructions=INSTRUCTIONS if app.dialect is None else app.dialect.instructions,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            **(self._resource_and_prompt_handlers() if app.dialect is None else {}),
        )
        # These replace the SDK's telemetry, which muxpilot does not collect.
        self.middleware[:] = [_map_errors, self._fast_tool_call]

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> types.ServerCapabilities:
        """Return what the server can do, with the channel if it is on."""
        capabilities = super().get_capabilities(NotificationOptions(resources_changed=True), *args, **kwargs)
        if self._app.settings.channel:
            capabilities.experimental = {**(capabilities.experimental or {}), **CAPABILITY}
        return capabilities

    def _resource_and_prompt_handlers(self) -> dict[str, Any]:
        """Return the handlers beyond tools. A dialect has none: they describe the native tools."""
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

    async def _list_tools(self, ctx: RequestContext, params: object) -> types.ListToolsResult:
        return self._tools

    async def _fast_tool_call(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        """Run a plain tool call without building four pydantic models that would be taken apart again."""
        if ctx.method == "tools/call" and _is_plain_call(ctx) and ctx.params is not None:
            return await self._run_tool(ctx, ctx.params["name"], ctx.params.get("arguments"))
        return await call_next(ctx)

    async def _call_tool(
        self, ctx: RequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return types.CallToolResult.model_validate(await self._run_tool(ctx, params.name, params.arguments))

    async def _run_tool(
        self, ctx: RequestContext, name: str, arguments: dict[str, Any] | None
    ) -> dict[str, Any]:
        on_watch_end = push_watch_results(ctx.session) if self._app.settings.channel else None
        subscriptions = subscriptions_of(ctx, self._app.services.watches)
        progress = (
            no_progress if progress_token_from_params(ctx.params) is None else ctx.session.report_progress
        )
        if subscriptions is not None and on_watch_end is not None:
            subscriptions.tell_ends(on_watch_end)
        # A watch outlives the process: so it does not end with a client that ends with the process.
        own_watch = (
            watch_not_owned if subscriptions is None or self._ends_with_client else subscriptions.own_watch
        )
        caller = Caller(progress, on_watch_end, own_watch)
        return _to_result(await self._app.dispatch.call(name, arguments or {}, caller))

    async def _list_resources(self, ctx: RequestContext, params: object) -> types.ListResourcesResult:
        subscriptions = subscriptions_of(ctx, self._app.services.watches)
        if subscriptions is not None and not subscriptions.has_list_subscription:
            # After its first listing, a client is notified of every change of the list.
            subscriptions.has_list_subscription = True
            tell = with_timeout(ctx.session.send_resource_list_changed)
            subscriptions.add(_RESOURCE_LIST, await self._app.resources.follow_list(tell))
        entries = await self._app.resources.list()
        rows = [types.Resource(uri=row.uri, name=row.name, mime_type=row.mime) for row in entries]
        return types.ListResourcesResult(resources=rows)

    async def _list_templates(self, ctx: RequestContext, params: object) -> types.ListResourceTemplatesResult:
        rows = [
            types.ResourceTemplate(uri_template=row.template, name=row.title, mime_type=row.mime)
            for row in self._app.resources.rows
            if "{" in row.template and self._app.dispatch.is_tool_open(row.tool)
        ]
        return types.ListResourceTemplatesResult(resource_templates=rows)

    async def _read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        mime, text = await self._app.resources.read(uri)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)]
        )

    async def _subscribe(
        self, ctx: RequestContext, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        uri = str(params.uri)
        stop = await self._app.resources.follow(
            uri, functools.partial(ctx.session.send_resource_updated, uri)
        )
        subscriptions = subscriptions_of(ctx, self._app.services.watches)
        if subscriptions is None:
            stop()
        else:
            subscriptions.add(uri, stop)
        return types.EmptyResult()

    async def _unsubscribe(
        self, ctx: RequestContext, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        subscriptions = subscriptions_of(ctx, self._app.services.watches)
        if subscriptions is not None:
            subscriptions.remove(str(params.uri))
        return types.EmptyResult()

    async def _listen(
        self, ctx: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve one subscription stream, with a bus of its own so that each event is sent once.

        Resources that cannot be followed are left out of the acknowledgement.
        """
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

    async def _list_prompts(self, ctx: RequestContext, params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_to_prompt(name) for name in PROMPTS])

    async def _get_prompt(
        self, ctx: RequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        prompt = PROMPTS.get(params.name)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name[:100]}")
        text = prompt.fill(params.arguments or {})
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])


async def _map_errors(ctx: RequestContext, call_next: CallNext) -> HandlerResult:
    """Turn our exceptions into protocol errors. The SDK would send the text of any other exception."""
    if _has_unexpected_envelope(ctx):
        raise MCPError(types.INVALID_REQUEST, _UNEXPECTED_ENVELOPE)
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
    except Exception:  # noqa: BLE001 - a bug in muxpilot must not end the server
        raise MCPError(types.INTERNAL_ERROR, report_incident(ctx.method)) from None


def _has_unexpected_envelope(ctx: RequestContext) -> bool:
    """Tell whether a request has an envelope although the connection began with a handshake.

    Only the SDK's own `Server.run` checks that, and we do not use it after a handshake.
    """
    meta = (ctx.params or {}).get("_meta")
    is_enveloped = isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta
    is_after_handshake = ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
    return is_enveloped and is_after_handshake and ctx.request_id is not None and ctx.method != "initialize"


def _is_plain_call(ctx: RequestContext) -> bool:
    """Tell whether a tool call has the usual form after a handshake. The SDK checks all other calls."""
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


def _to_result(answer: Answer) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [_to_content_block(answer)], "isError": answer.is_error}
    if answer.structured is not None:
        result["structuredContent"] = PreSerialized(answer.structured, answer.text)
    return result


def _to_content_block(answer: Answer) -> dict[str, str]:
    if answer.png is not None:
        return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(answer.png).decode()}
    return {"type": "text", "text": answer.text}


def _to_prompt(name: str) -> types.Prompt:
    prompt = PROMPTS[name]
    arguments = [
        types.PromptArgument(name=row.name, description=row.description, required=row.is_required)
        for row in prompt.arguments
    ]
    return types.Prompt(name=name, description=prompt.description, arguments=arguments)
