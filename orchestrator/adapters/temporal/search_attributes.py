"""The search attributes of workflows: their values at the start, and the keys of later ones."""

from typing import Any, Final

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from orchestrator.core.pii import PII_PREFIX
from orchestrator.messages import names

MISSION_ID: Final = SearchAttributeKey.for_keyword(names.MISSION_ID_ATTRIBUTE)
STATUS: Final = SearchAttributeKey.for_keyword(names.STATUS_ATTRIBUTE)
AGENT: Final = SearchAttributeKey.for_keyword_list(names.AGENT_ATTRIBUTE)
TOOL: Final = SearchAttributeKey.for_keyword_list(names.TOOL_ATTRIBUTE)
WAITING_FOR: Final = SearchAttributeKey.for_keyword_list(names.WAITING_FOR_ATTRIBUTE)
PARKED: Final = SearchAttributeKey.for_int(names.PARKED_ATTRIBUTE)
REQUESTER: Final = SearchAttributeKey.for_keyword(names.REQUESTER_ATTRIBUTE)
MODE: Final = SearchAttributeKey.for_keyword(names.MODE_ATTRIBUTE)


def search_attributes(
    mission_id: str, status: str, *, requester: str = ""
) -> TypedSearchAttributes:
    """Return the search attributes that a mission or a rollback starts with."""
    pairs: list[SearchAttributePair[Any]] = [
        SearchAttributePair(MISSION_ID, mission_id),
        SearchAttributePair(STATUS, str(status)),
    ]
    if searchable(requester):
        pairs.append(SearchAttributePair(REQUESTER, requester))
    return TypedSearchAttributes(pairs)


def searchable(requester: str) -> bool:
    """Return True if a requester may be stored unencrypted: not if it names a personal value."""
    return bool(requester) and PII_PREFIX not in requester


def quoted(value: str) -> str:
    r"""Return a value as a search query takes it, whose parser reads `\'` as a quote in a text.

    A NUL, which the databases of the server refuse, becomes a mark that no value has.
    """
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped.replace(chr(0), chr(0xFFFD))}'"
