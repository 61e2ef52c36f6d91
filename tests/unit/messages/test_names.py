"""Ids of calls: built from parts, taken apart again, and told apart among all missions."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.call_ref import CallRef, key_of_call
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


def test_a_mission_id_that_is_used_again_has_new_keys() -> None:
    """Ids of runs begin with the time: two of one minute differ in what follows."""
    ref = CallRef(
        call_id="trip.1-cars.2", mission_id="trip", leg_id="1-cars", tool="t", catalog_digest=""
    )
    first, again = "01a2288c-77aa-7000-8000-0242ac120002", "01a2288c-8f10-7000-8000-5b2f9d2c7e11"
    one, other = (ref.model_copy(update={"origin": origin}) for origin in (first, again))

    assert one.call_id == other.call_id
    assert one.key != other.key
    assert one.key == key_of_call(ref.call_id, first)
    assert ref.key == ref.call_id
