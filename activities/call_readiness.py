"""Whether a call could be sent as it is: personal values, credentials, and where it would go."""

from orchestrator.adapters.http.pinning import PinnedArguments, foreign_problems
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.arguments import needed_handles
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid, DocumentInvalid, EgressRefused, PiiGone
from orchestrator.core.pii import Handle, handle_of
from orchestrator.core.record import JsonObject
from orchestrator.messages.tool_call import PreparedCall, PrepareInput


async def readied(
    tools: ToolClient,
    catalog: Catalog,
    tool: Tool,
    arguments: JsonObject,
    wanted: PrepareInput,
) -> tuple[PinnedArguments, PreparedCall | None]:
    """The arguments with each handle meaning one value, and what is lacking; None when nothing is.

    Raises:
        UsageError: the vault cannot be opened.
        StateLacking: the store of the files that it would send cannot be read now.
    """
    pinned = await tools.pin(
        catalog, tool, arguments, mission_id=wanted.mission_id, brought=_brought(wanted)
    )
    problems = (*foreign_problems(pinned.foreign), *pinned.unsendable)
    if problems:
        return pinned, PreparedCall(problems=problems)
    try:
        obstacles = await tools.obstacles(catalog, tool)
    except (DocumentInvalid, EgressRefused) as error:
        return pinned, PreparedCall(problems=(str(error),))
    if pinned.gone:
        obstacles = (str(PiiGone(pinned.gone)), *obstacles)
    if pinned.missing or obstacles:
        return pinned, PreparedCall(missing_personal=pinned.missing, obstacles=obstacles)
    return pinned, None


def check_pinned(catalog: Catalog, tool: Tool, arguments: JsonObject) -> None:
    """Refuse a side effect of which a handle does not say which value it means.

    What was approved is exact, and a second attempt sends what the first one did.

    Raises:
        ArgumentsInvalid: names the fields.
    """
    loose = [h.field for h in needed_handles(catalog, tool, arguments) if h.version is None]
    if loose and tool.is_side_effect:
        raise ArgumentsInvalid(
            tool.name,
            [f"which value of {', '.join(loose)} is meant was not settled when it was prepared"],
        )


def _brought(wanted: PrepareInput) -> list[Handle]:
    return [handle for text in wanted.brought if (handle := handle_of(text)) is not None]
