"""The search attributes of workflows: what each starts with, and the keys it is found by later."""

from typing import Any, Final

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from orchestrator.core.pii import PII_PREFIX
from orchestrator.messages import names

MISSION_ID: Final = SearchAttributeKey.for_keyword(names.MISSION_ID_ATTRIBUTE)
STATUS: Final = SearchAttributeKey.for_keyword(names.STATUS_ATTRIBUTE)
AGENT: Final = SearchAttributeKey.for_keyword(names.AGENT_ATTRIBUTE)
TOOL: Final = SearchAttributeKey.for_keyword_list(names.TOOL_ATTRIBUTE)
CARD_TYPE: Final = SearchAttributeKey.for_keyword(names.CARD_TYPE_ATTRIBUTE)
WAITING_FOR: Final = SearchAttributeKey.for_keyword_list(names.WAITING_FOR_ATTRIBUTE)
PARKED: Final = SearchAttributeKey.for_int(names.PARKED_ATTRIBUTE)
REQUESTER: Final = SearchAttributeKey.for_keyword(names.REQUESTER_ATTRIBUTE)


def search_attributes(
    mission_id: str, status: str, *, agent: str = "", requester: str = ""
) -> TypedSearchAttributes:
    """What a mission, a leg or a rollback starts with, whoever starts it."""
    pairs: list[SearchAttributePair[Any]] = [
        SearchAttributePair(MISSION_ID, mission_id),
        SearchAttributePair(STATUS, str(status)),
    ]
    if agent:
        pairs.append(SearchAttributePair(AGENT, agent))
    if searchable(requester):
        pairs.append(SearchAttributePair(REQUESTER, requester))
    return TypedSearchAttributes(pairs)


def searchable(requester: str) -> bool:
    """Whether a requester may stand where nothing is encrypted: not what names a personal value."""
    return bool(requester) and PII_PREFIX not in requester
