"""Ids that cross the boundary: built from parts and taken apart again."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.messages import names
from orchestrator.messages.mission import MISSION_ID_PATTERN
from orchestrator.saga.compensation import cancel_key

mission_ids = st.from_regex(MISSION_ID_PATTERN, fullmatch=True)
leg_ids = st.from_regex(r"^[a-z0-9][a-z0-9_-]{0,63}$", fullmatch=True)


@given(mission_ids, leg_ids, st.integers(1, 999))
def test_a_call_leads_to_its_mission_and_leg(mission_id: str, leg_id: str, step: int) -> None:
    """The workflow that decides, and the leg in it, can be read off the id of any call."""
    call = names.call_id(mission_id, leg_id, step)

    assert names.mission_of(call) == mission_id
    assert names.leg_of(call) == leg_id


@given(mission_ids, leg_ids, st.integers(1, 999))
def test_forward_and_cancel_never_share_a_key(mission_id: str, leg_id: str, step: int) -> None:
    """The key of a cancel differs from that of every forward call of the mission."""
    key = names.call_id(mission_id, leg_id, step)

    assert cancel_key(key) != key
    assert not cancel_key(key).rpartition(".")[2].isdigit()
