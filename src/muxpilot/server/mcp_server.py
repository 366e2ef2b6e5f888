"""The application as an MCP server: each handler translates between the protocol and the application."""

from __future__ import annotations

import base64
import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from muxpilot.app import App
from muxpilot.calls import Caller, UnknownTool, no_progress, report_incident, watch_not_owned
from muxpilot.errors import BadInput, MuxpilotError, Unavailable
from muxpilot.protocol.change_streams import RESOURCE_UPDATED, RESOURCES_CHANGED
from muxpilot.protocol.elicitation import Elicitation, InputRequired, PersonAnswer
from muxpilot.protocol.messages import Params, Result, encode_tool_result, to_json_text
from muxpilot.protocol.results import ResultFinisher
from muxpilot.protocol.rpc_errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, ProtocolError
from muxpilot.resources import ResourceFailed
from muxpilot.server.channel import CAPABILITY, push_watch_results
from muxpilot.server.client_connection import RequestContext
from muxpilot.server.instructions import INSTRUCTIONS
from muxpilot.server.introduction import METHODS, SERVER_INFO, Introduction
from muxpilot.server.prompts import PROMPTS
from muxpilot.server.subscriptions import with_timeout
from muxpilot.toolkit.answers import Answer

if TYPE_CHECKING:
    from muxpilot.redaction.redactor import Redactor

_RESOURCE_LIST = ""  # no resource has this address

# Results in which dispatch has redacted what needs it, and those that are the same for every client.
_REDACTED_BEFORE = frozenset({"tools/call", "resources/read", *METHODS})

Handler = Callable[[RequestContext, Params], Awaitable[Result]]


class MuxpilotServer:
    """One MCP server for one application. It answers requests; the transports bring them."""

    def __init__(self, app: App, *, ends_with_client: bool = False) -> None:
        """Serve an application. `ends_with_client`: there is one client, and the process ends with it."""
        self._app = app
        self._ends_with_client = ends_with_client
        self._results = ResultFinisher(SERVER_INFO)
        self._handlers: dict[str, Handler] = dict.fromkeys(METHODS, self._introduce)
        self._handlers["tools/call"] = self._call_tool
        if app.dialect is None:  # resources and prompts describe the native tools
            self._handlers |= {
                "resources/list": self._list_resources,
                "resources/templates/list": self._list_templates,
                "resources/read": self._read_resource,
                "resources/subscribe": self._subscribe,
                "resources/unsubscribe": self._unsubscribe,
                "subscriptions/listen": self._listen,
                "prompts/list": self._list_prompts,
                "prompts/get": self._get_prompt,
                "completion/complete": self._complete,
            }

    async def answer(self, ctx: RequestContext) -> Result:
        """Return the result of a request. Raise ProtocolError, and nothing else, for every failure."""
        method, redactor = ctx.request.method, self._app.redactor
        ctx.connection.redactor = redactor
        try:
            result = await self._handle(ctx, method)
        except ProtocolError as error:
            raise _redact_error(error, redactor) from None
        if redactor is not None and method not in _REDACTED_BEFORE:
            result = redactor.redact_value(result)
        return self._results.finish(method, result, ctx.facts.revision)

    async def _handle(self, ctx: RequestContext, method: str) -> Result:
        handler = self._handlers.get(method)
        if handler is None:
            raise ProtocolError(METHOD_NOT_FOUND, "Method not found", method[:200])
        try:
            return await handler(ctx, ctx.request.params)
        except Exception as error:  # noqa: BLE001 - a bug in muxpilot must not end the server
            return _explain(error, ctx)

    async def _introduce(self, ctx: RequestContext, params: Params) -> Result:
        return self.introduction.answer(ctx.request.method, ctx.facts.revision)

    @functools.cached_property
    def introduction(self) -> Introduction:
        """Return what clients ask for first."""
        tools = to_json_text({"tools": self._app.dispatch.list_tools()})
        return Introduction(self._describe(), tools)

    def _describe(self) -> dict[str, Any]:
        """Return the capabilities and instructions. Tools and prompts never change."""
        dialect = self._app.dialect
        capabilities: dict[str, Any] = {"tools": {"listChanged": False}}
        if dialect is None:
            capabilities |= {
                "resources": {"subscribe": True, "listChanged": True},
                "prompts": {"listChanged": False},
                "completions": {},
            }
        if self._app.settings.channel:
            capabilities["experimental"] = CAPABILITY
        return {
            "capabilities": capabilities,
            "instructions": INSTRUCTIONS if dialect is None else dialect.instructions,
        }

    async def _call_tool(self, ctx: RequestContext, params: Params) -> Result:
        subscriptions = ctx.subscriptions
        on_watch_end = push_watch_results(ctx.connection) if self._app.settings.channel else None
        if subscriptions is not None and on_watch_end is not None:
            subscriptions.tell_ends(on_watch_end)
        # A watch outlives the process: so it does not end with a client that ends with the process.
        is_left = subscriptions is None or self._ends_with_client
        caller = self._find_caller(
            ctx,
            progress=no_progress if ctx.facts.progress_token is None else ctx.report_progress,
            on_watch_end=on_watch_end,
            own_watch=watch_not_owned if subscriptions is None or is_left else subscriptions.own_watch,
        )
        return _to_result(
            await self._app.dispatch.call(params["name"], params.get("arguments") or {}, caller)
        )

    def _find_caller(self, ctx: RequestContext, **more: Any) -> Caller:
        """Return the client that sends a request, which can put questions to its person."""
        has_session = ctx.subscriptions is not None or self._ends_with_client
        return Caller(
            ask_person=functools.partial(_ask_person, ctx),
            client=ctx.facts.client,
            session=ctx.connection if has_session else None,
            **more,
        )

    async def _list_resources(self, ctx: RequestContext, params: Params) -> Result:
        subscriptions = ctx.subscriptions
        if subscriptions is not None and not subscriptions.has_list_subscription:
            # After its first listing, a client is notified of every change of the list.
            subscriptions.has_list_subscription = True
            tell = with_timeout(functools.partial(ctx.connection.notify, RESOURCES_CHANGED))
            subscriptions.add(_RESOURCE_LIST, await self._app.resources.follow_list(tell))
        entries = await self._app.resources.list()
        return {
            "resources": [
                {"uri": row.uri, "name": row.name, "description": row.description, "mimeType": row.mime}
                for row in entries
            ]
        }

    async def _list_templates(self, ctx: RequestContext, params: Params) -> Result:
        rows = [
            {
                "uriTemplate": row.template,
                "name": row.title,
                "description": row.description,
                "mimeType": row.mime,
            }
            for row in self._app.resources.rows
            if "{" in row.template and self._app.dispatch.is_tool_open(row.tool)
        ]
        return {"resourceTemplates": rows}

    async def _read_resource(self, ctx: RequestContext, params: Params) -> Result:
        uri = params["uri"]
        mime, text = await self._app.resources.read(uri, self._find_caller(ctx))
        return {"contents": [{"uri": uri, "mimeType": mime, "text": text}]}

    async def _subscribe(self, ctx: RequestContext, params: Params) -> Result:
        uri = params["uri"]
        tell = functools.partial(ctx.connection.notify, RESOURCE_UPDATED, {"uri": uri})
        ctx.connection.subscriptions.add(uri, await self._app.resources.follow(uri, tell))
        return {}

    async def _unsubscribe(self, ctx: RequestContext, params: Params) -> Result:
        ctx.connection.subscriptions.remove(params["uri"])
        return {}

    async def _listen(self, ctx: RequestContext, params: Params) -> Result:
        from muxpilot.server.change_stream import serve_changes  # most clients do without

        return await serve_changes(self._app.resources, ctx)

    async def _complete(self, ctx: RequestContext, params: Params) -> Result:
        from muxpilot.server.completions import complete  # most clients do without

        return await complete(self._app.resources, params)

    async def _list_prompts(self, ctx: RequestContext, params: Params) -> Result:
        return {"prompts": [prompt.listing for prompt in PROMPTS.values()]}

    async def _get_prompt(self, ctx: RequestContext, params: Params) -> Result:
        prompt = PROMPTS.get(params["name"])
        if prompt is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {params['name'][:100]}")
        text = prompt.fill(params.get("arguments") or {})
        message = {"role": "user", "content": {"type": "text", "text": text}}
        return {"description": prompt.description, "messages": [message]}


async def _ask_person(ctx: RequestContext, question: Elicitation) -> PersonAnswer:
    """Put a tool's question to the person. A client that cannot ask is a failure of the tool."""
    try:
        return await ctx.ask_person(question)
    except ProtocolError as error:
        raise Unavailable(str(error)) from None


def _explain(error: Exception, ctx: RequestContext) -> Result:
    """Return the result that an exception stands for, or raise it as an error of the protocol."""
    if isinstance(error, InputRequired):
        return error.to_result()
    if isinstance(error, ProtocolError):
        raise error
    if isinstance(error, UnknownTool):
        raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {error}") from None
    if isinstance(error, ResourceFailed):
        raise _resource_error(error, ctx) from None
    if isinstance(error, BadInput):
        raise ProtocolError(INVALID_PARAMS, str(error)) from None
    if isinstance(error, MuxpilotError):
        raise ProtocolError(INTERNAL_ERROR, str(error)) from None
    raise ProtocolError(INTERNAL_ERROR, report_incident(ctx.request.method[:60])) from None


def _redact_error(error: ProtocolError, redactor: Redactor | None) -> ProtocolError:
    """Return the error without secrets; the same one where redaction is off."""
    if redactor is None:
        return error
    return ProtocolError(error.code, redactor.redact_field(str(error)), redactor.redact_value(error.data))


def _resource_error(failed: ResourceFailed, ctx: RequestContext) -> ProtocolError:
    if not failed.is_missing:
        return ProtocolError(INTERNAL_ERROR, str(failed))
    return ProtocolError(
        ctx.facts.revision.missing_resource, str(failed), {"uri": ctx.request.params.get("uri")}
    )


def _to_result(answer: Answer) -> Result:
    if answer.png is not None:
        data = base64.b64encode(answer.png).decode()
        return {
            "content": [{"type": "image", "mimeType": "image/png", "data": data}],
            "isError": answer.is_error,
            **({} if answer.structured is None else {"structuredContent": answer.structured}),
        }
    return encode_tool_result(answer.text, is_error=answer.is_error, is_json=answer.structured is not None)
