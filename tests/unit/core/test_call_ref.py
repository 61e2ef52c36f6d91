"""Calls are told apart among all missions that ever had one id."""

from orchestrator.core.call_ref import CallRef, key_of_call


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
