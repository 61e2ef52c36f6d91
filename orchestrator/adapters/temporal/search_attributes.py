"""The search attributes that workflows are started with and found by, from outside of them."""

from typing import Final

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from orchestrator.messages import names

STATUS: Final = SearchAttributeKey.for_keyword(names.STATUS_ATTRIBUTE)
_MISSION_ID: Final = SearchAttributeKey.for_keyword(names.MISSION_ID_ATTRIBUTE)


def search_attributes(mission_id: str, status: str) -> TypedSearchAttributes:
    """What a mission, or a rollback of it, starts with."""
    return TypedSearchAttributes(
        [SearchAttributePair(_MISSION_ID, mission_id), SearchAttributePair(STATUS, str(status))]
    )
