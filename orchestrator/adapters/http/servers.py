"""Where the requests of a document may go: its servers, their variables filled in."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import EgressRefused, UsageError
from orchestrator.core.shown_text import address_shown
from orchestrator.json_schema.document import DocumentNode

Origin = tuple[str, str, int]
"""Scheme, host and port: what a request must share with a declared server."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_VARIABLE = re.compile(r"\{([^{}]+)\}")
SETTING = "ORCHESTRATOR_SERVER_VARIABLES"
ServerVariables = Mapping[str, Mapping[str, str]]
"""Values of server variables by the name of the document that they are for."""
_NO_PATH = (
    "is followed by a query or a fragment, to which no path can be added; remove it by an overlay, "
    "and declare a query that each call needs as a parameter"
)
_NO_HOST = (
    "names no host; say where the server is by an overlay that removes $.servers and then updates "
    '$ with {servers: [{url: "https://..."}]}'
)
_SAFE_VALUE = re.compile(r"[\w.~:/\[\]-]*")
"""Nothing that could end the host early or begin a query: `@`, `?`, `#`, `\\`, white space."""


def base_url(tool: Tool, configured: ServerVariables) -> str:
    """The URL that the tool's path is appended to; it does not end in a slash.

    Args:
        tool: its server template and the document's defaults for the variables.
        configured: values that override those defaults, by document.

    Raises:
        UsageError: a variable has neither a default nor a configured value, or one that would
            change more of the URL than its own place.
        EgressRefused: the result names no host, so nothing says where to send anything; or it has
            a query or a fragment, in which the path would end up.
    """
    own = configured.get(tool.document, {})
    filled = _fill(tool.server, {**tool.server_variables, **own}, tool.document)
    if "?" in filled or "#" in filled:
        raise EgressRefused(tool.name, address_shown(filled.partition("#")[0]), _NO_PATH)
    if origin_of(filled) is None:
        told = address_shown(filled) or "a server without an address"
        raise EgressRefused(tool.name, told, _NO_HOST)
    return filled.rstrip("/")


def declared_origins(operation: Operation, configured: ServerVariables) -> frozenset[Origin]:
    """The origins of every server that applies to an operation.

    Raises:
        UsageError: a configured value is none of those that the document allows.
    """
    servers = operation.inherited("servers")
    declared = servers.elements() if servers is not None else ()
    urls = (_server_url(server, configured) for server in declared)
    return frozenset(origin for url in urls if (origin := origin_of(url)) is not None)


def origin_of(url: str) -> Origin | None:
    """The origin of an absolute HTTP URL that can be called; None for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port
        # Which raises where a request to that host would.
        _ = httpx.URL(f"{parts.scheme}://{parts.netloc}").host
    except (ValueError, httpx.InvalidURL):
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username is not None:
        return None
    return parts.scheme, parts.hostname, port if port is not None else _DEFAULT_PORTS[parts.scheme]


def _server_url(server: DocumentNode, configured: ServerVariables) -> str:
    own = configured.get(server.document, {})
    for name, variable in server.items("variables"):
        allowed = [one.value for one in variable.elements("enum")]
        if allowed and name in own and own[name] not in map(str, allowed):
            raise UsageError(
                f"the server variable {name!r} of {server.document} must be one of "
                f"{', '.join(map(str, allowed))}: change it in {SETTING}"
            )
    defaults = {
        name: default
        for name, variable in server.items("variables")
        if (default := variable.text_at("default")) is not None
    }
    return _fill(server.require("url").text(), {**defaults, **own}, server.document)


def _fill(template: str, values: Mapping[str, str], document: str) -> str:
    scheme_end = template.find("://")
    authority_end = template.find("/", scheme_end + 3) if scheme_end >= 0 else 0

    def value_of(found: re.Match[str]) -> str:
        name = found[1]
        if name not in values:
            raise UsageError(
                f"no value for the server variable {name!r} of {document}; "
                f'set it in {SETTING}, as {{"{document}": {{"{name}": "..."}}}}'
            )
        in_authority = authority_end < 0 or found.start() < authority_end
        _check_value(name, values[name], may_hold_slash=not in_authority)
        return values[name]

    return _VARIABLE.sub(value_of, template)


def _check_value(name: str, value: str, *, may_hold_slash: bool) -> None:
    if not _SAFE_VALUE.fullmatch(value) or ("/" in value and not may_hold_slash):
        raise UsageError(
            f"the value of the server variable {name!r} is no part of a URL; set one in {SETTING}"
        )
