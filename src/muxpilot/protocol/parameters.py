"""The parameters of each method: which there are, and of what type. Unknown ones are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from muxpilot.protocol.messages import Params
from muxpilot.protocol.rpc_errors import INVALID_PARAMS, ProtocolError

_TYPE_NAMES: dict[type, str] = {str: "a string", dict: "an object"}


class _Parameter(NamedTuple):
    name: str
    type: type
    is_required: bool = True
    # The fields of an object that must be strings.
    strings: tuple[str, ...] = ()
    # Whether all values of an object must be strings.
    has_string_values: bool = False


_URI = (_Parameter("uri", str),)
_META = _Parameter("_meta", dict, is_required=False)

_PARAMETERS: Mapping[str, tuple[_Parameter, ...]] = {
    "initialize": (
        _Parameter("protocolVersion", str),
        _Parameter("capabilities", dict),
        _Parameter("clientInfo", dict, strings=("name", "version")),
    ),
    "tools/call": (_Parameter("name", str), _Parameter("arguments", dict, is_required=False)),
    "resources/read": _URI,
    "resources/subscribe": _URI,
    "resources/unsubscribe": _URI,
    "prompts/get": (
        _Parameter("name", str),
        _Parameter("arguments", dict, is_required=False, has_string_values=True),
    ),
    "completion/complete": (
        _Parameter("ref", dict, strings=("type",)),
        _Parameter("argument", dict, strings=("name", "value")),
    ),
    "subscriptions/listen": (_Parameter("notifications", dict),),
}


def check_parameters(method: str, params: Params) -> None:
    """Refuse parameters of the wrong type, and missing ones."""
    _check(_META, params)
    for parameter in _PARAMETERS.get(method, ()):
        _check(parameter, params)


def _check(parameter: _Parameter, params: Params) -> None:
    value: Any = params.get(parameter.name)
    if value is None and not parameter.is_required:
        return
    if value.__class__ is not parameter.type:
        _refuse(parameter.name, _TYPE_NAMES[parameter.type])
    if parameter.type is dict:
        _check_fields(parameter, params[parameter.name])


def _check_fields(parameter: _Parameter, value: Params) -> None:
    for name in parameter.strings:
        _check_string(f"{parameter.name}.{name}", value.get(name))
    if parameter.has_string_values:
        for name, item in value.items():
            _check_string(f"{parameter.name}.{name[:40]}", item)


def _check_string(name: str, value: Any) -> None:
    if value.__class__ is not str:
        _refuse(name, _TYPE_NAMES[str])


def _refuse(name: str, wanted: str) -> NoReturn:
    raise ProtocolError(INVALID_PARAMS, f"Invalid request parameters: {name} must be {wanted}")
