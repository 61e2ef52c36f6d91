"""Lists the tools of MCP servers once, for a catalog."""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from orchestrator.adapters.http.destinations import AddressPolicy, OnlyHosts
from orchestrator.adapters.http.transport import CheckedTransport
from orchestrator.adapters.mcp.mcp_transport import mcp_library
from orchestrator.adapters.mcp.servers import McpServer, by_name
from orchestrator.adapters.secrets import EnvironmentSecrets, SecretStore
from orchestrator.catalog.mcp_documents import McpListing
from orchestrator.catalog.source import read_object
from orchestrator.core.errors import SecretMissing

_LARGEST_LISTING = 20_000_000
_FIRST_PAUSE_S = 1.0
_log = logging.getLogger(__name__)


def list_servers(
    servers: Sequence[McpServer],
    *,
    secrets: SecretStore | None = None,
    allowed_private_hosts: Iterable[str] = (),
    only_hosts: Iterable[str] = (),
    proxy: str | None = None,
    patience_s: float = 0.0,
) -> list[McpListing]:
    """Return what each server lists, for `Catalog.load(mcp=...)`; one that fails has its fault.

    Runs an event loop in a thread of its own, so that it serves callers with and without one. A
    server that fails is tried again for `patience_s`.

    Raises:
        UsageError: the extra `mcp` is not installed, or two servers have one name.
        DocumentUnreadable: an overlay cannot be read.
    """
    if not servers:
        return []
    by_name(servers)
    mcp_library()
    http = CheckedTransport(
        AddressPolicy(allowed_private_hosts), proxy=proxy, only=OnlyHosts(only_hosts)
    )

    async def all_of_them() -> list[McpListing]:
        async with http:
            known = secrets or EnvironmentSecrets()
            listing = (_patiently(one, known, http, patience_s) for one in servers)
            return await asyncio.gather(*listing)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, all_of_them()).result()


async def _patiently(
    server: McpServer, secrets: SecretStore, http: CheckedTransport, patience_s: float
) -> McpListing:
    until, pause_s = time.monotonic() + patience_s, _FIRST_PAUSE_S
    while (listing := await _listed(server, secrets, http)).fault:
        left_s = until - time.monotonic()
        if left_s < pause_s:
            break
        why = f"MCP server {server.name} (ORCHESTRATOR_MCP) is not listed: {listing.fault}"
        _log.warning("%s; it is tried for another %.0f s", why, left_s)
        await asyncio.sleep(pause_s)
        pause_s *= 2
    return listing


async def _listed(server: McpServer, secrets: SecretStore, http: CheckedTransport) -> McpListing:
    library = mcp_library()
    overlay = read_object(server.overlay) if server.overlay is not None else None
    named = server.overlay.name if server.overlay is not None else ""
    session = library.McpSession(server, http, _LARGEST_LISTING)
    try:
        await session.open(secrets)
        tools = await session.list_tools()
    except (SecretMissing, library.SessionUnopened, library.ListingRefused) as error:
        return McpListing(server.name, (), fault=str(error))
    except library.ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        at = ".".join(map(str, first["loc"])) or "its answer"
        why = f"its list is none of the protocol: {at}: {first['msg']}"
        return McpListing(server.name, (), fault=why)
    except library.MCPError as error:
        return McpListing(server.name, (), fault=f"it lists no tools ({type(error).__name__})")
    finally:
        await session.close()
    if server.tools:
        tools = [tool for tool in tools if tool["name"] in server.tools]
    return McpListing(server.name, tools, overlay, named)
