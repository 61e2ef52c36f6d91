"""The engine: a pure replay of recorded answers to the next move."""

from collections import Counter
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.arazzo.engine import (
    MOST_CALLS,
    MOST_CALLS_OF_A_STEP,
    CallMove,
    EndMove,
    FailMove,
    Move,
    StepAnswer,
    next_move,
)
from orchestrator.arazzo.written import Action, Criterion, WrittenStep, WrittenWorkflow
from orchestrator.core.record import JsonObject

FIND = WrittenStep(
    step_id="find",
    tool="search",
    arguments={"city": "$inputs.city"},
    outputs={"id": "$response.body#/items/0/id"},
)
BOOK = WrittenStep(
    step_id="book",
    tool="book",
    arguments={"id": "$steps.find.outputs.id", "note": "for {$inputs.city}"},
    is_consequence=True,
    outputs={"number": "$response.body#/number"},
)
INPUTS = {
    "type": "object",
    "required": ["city"],
    "properties": {"city": {"type": "string"}, "guests": {"type": "integer", "default": 2}},
}
FOUND = StepAnswer("find", "succeeded", 200, body={"items": [{"id": "a1"}]})
LATER = "Wed, 21 Oct 2026 07:28"
BOOKED = StepAnswer("book", "succeeded", 201, body={"number": 7})


def flow(*steps: WrittenStep, **fields: object) -> WrittenWorkflow:
    content = {"workflow_id": "trip", "inputs": INPUTS, "steps": steps, **fields}
    return WrittenWorkflow.model_validate(content)


def move(workflow: WrittenWorkflow, *answers: StepAnswer) -> Move:
    return next_move(workflow, {"city": "Rome"}, answers)


def with_(step: WrittenStep, **fields: object) -> WrittenStep:
    return WrittenStep.model_validate({**step.model_dump(), **fields})


def test_steps_follow_each_other_with_the_values_of_earlier_answers() -> None:
    workflow = flow(FIND, BOOK, outputs={"number": "$steps.book.outputs.number"})

    assert move(workflow) == CallMove("find", "search", {"city": "Rome"}, "find")
    assert move(workflow, FOUND) == CallMove(
        "book", "book", {"id": "a1", "note": "for Rome"}, "book"
    )
    assert move(workflow, FOUND, BOOKED) == EndMove({"number": 7})


def test_a_missing_value_fails_with_its_step_and_is_never_passed_on() -> None:
    failed = move(flow(FIND, BOOK), StepAnswer("find", "succeeded", 200, body={"items": []}))

    assert isinstance(failed, FailMove)
    assert failed.step_id == "book"
    assert "$steps.find.outputs.id" in failed.reason


def test_an_optional_input_that_is_not_given_is_left_out() -> None:
    """Unless it has a default."""
    inputs = {"type": "object", "properties": {"city": {}, "limit": {"type": "integer"}}}
    paged = with_(
        FIND, arguments={"limit": "$inputs.limit", "page": {"of": "$inputs.limit", "n": 1}}
    )
    guests = with_(FIND, arguments={"guests": "$inputs.guests"})

    assert move(flow(paged, inputs=inputs)) == CallMove(
        "find", "search", {"page": {"n": 1}}, "find"
    )
    assert move(flow(guests)) == CallMove("find", "search", {"guests": 2}, "find")
    whole = WrittenStep(step_id="find", tool="search", spread="$inputs.limit")
    noted = with_(whole, card_text="$inputs.limit")
    assert move(flow(whole, inputs=inputs)) == CallMove("find", "search", {}, "find")
    assert move(flow(noted, inputs=inputs)) == CallMove("find", "search", {}, "find")


@pytest.mark.parametrize("outcome", ["succeeded", "unknown"])
@pytest.mark.parametrize("kind", ["retry", "goto"])
def test_no_action_repeats_an_effect_that_may_stand(outcome: str, kind: str) -> None:
    """The same workflow would repeat it after a clear refusal."""
    again = Action.model_validate(
        {"name": "again", "kind": kind, "step_id": "book", "retry_limit": 3}
    )
    never = Criterion(condition="$statusCode == 299")
    workflow = flow(FIND, with_(BOOK, criteria=(never,), on_failure=(again,)))
    stands = StepAnswer("book", outcome, 200, error="late")  # type: ignore[arg-type]

    assert isinstance(move(workflow, FOUND, StepAnswer("book", "rejected", 409)), CallMove)
    failed = move(workflow, FOUND, stands)
    assert isinstance(failed, FailMove)
    assert failed.step_id == "book"
    assert "x-orchet-repeats: 2" in failed.reason
    assert "late" in failed.reason


def test_declared_repeats_allow_as_many_effects() -> None:
    back = Action(name="again", kind="goto", step_id="find")
    workflow = flow(FIND, with_(BOOK, repeats=2, on_success=(back,)))

    assert isinstance(move(workflow, FOUND, BOOKED, FOUND), CallMove)
    assert isinstance(move(workflow, FOUND, BOOKED, FOUND, BOOKED, FOUND), FailMove)


def test_a_refusal_of_a_person_ends_the_workflow_or_is_handled() -> None:
    """With their reason; it is not asked again."""
    refused = StepAnswer("book", "refused", error="too dear")
    retry = Action(name="again", kind="retry", retry_limit=5)
    end = Action(name="leave", kind="end")
    back = Action(name="back", kind="goto", step_id="find")
    again, handled, looped = (flow(FIND, with_(BOOK, on_failure=(a,))) for a in (retry, end, back))

    assert move(again, FOUND, refused) == FailMove("book", "too dear")
    assert move(handled, FOUND, refused) == EndMove({}, ("book",))
    assert isinstance(move(looped, FOUND, refused, FOUND), FailMove)


def test_retries_wait_and_end_at_their_limit_before_the_next_action() -> None:
    retry = Action(name="again", kind="retry", retry_after_s=2, retry_limit=2)
    workflow = flow(with_(FIND, on_failure=(retry, Action(name="leave", kind="end"))))
    busy = StepAnswer("find", "unknown", 503)

    assert move(workflow, busy) == CallMove("find", "search", {"city": "Rome"}, "find", 2)
    assert isinstance(move(workflow, busy, busy), CallMove)
    assert isinstance(move(workflow, busy, busy, busy), EndMove)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "9"}, 9),
        ({"retry-after": f"{LATER}:30 GMT", "date": f"{LATER}:00 GMT"}, 30),
        ({"retry-after": f"{LATER}:30 GMT"}, 2),
        ({"retry-after": "9" * 30}, 7 * 24 * 3600),
        ({"retry-after": "soon"}, 2),
    ],
)
def test_the_wait_that_a_provider_asks_for_wins(headers: dict[str, str], seconds: float) -> None:
    retry = Action(name="again", kind="retry", retry_after_s=2)
    found = move(
        flow(with_(FIND, on_failure=(retry,))), StepAnswer("find", "rejected", 429, headers=headers)
    )

    assert isinstance(found, CallMove)
    assert found.after_s == seconds


def test_actions_are_chosen_by_their_criteria_in_order() -> None:
    gone, taken = ((Criterion(condition=f"$statusCode == {n}"),) for n in (404, 409))
    on_failure = (
        Action(name="a", kind="end", criteria=gone),
        Action(name="b", kind="goto", step_id="other", criteria=taken),
    )
    other = WrittenStep(step_id="other", tool="search")
    workflow = flow(with_(FIND, on_failure=on_failure), other)

    assert isinstance(move(workflow, StepAnswer("find", "rejected", 404)), EndMove)
    assert move(workflow, StepAnswer("find", "rejected", 409)) == CallMove(
        "other", "search", {}, "other"
    )
    assert isinstance(move(workflow, StepAnswer("find", "rejected", 400)), FailMove)


def test_a_criterion_may_count_a_refusing_answer_as_success() -> None:
    """None makes a success of an unknown effect."""
    gone, anything = (Criterion(condition=f"$statusCode == {n}") for n in (404, 500))
    found = move(flow(with_(FIND, criteria=(gone,))), StepAnswer("find", "rejected", 404))
    unknown = flow(FIND, with_(BOOK, criteria=(anything,)))

    assert found == EndMove({})
    assert isinstance(move(unknown, FOUND, StepAnswer("book", "unknown", 500)), FailMove)


def test_a_called_workflow_runs_in_the_place_of_its_step() -> None:
    inner = flow(FIND, workflow_id="finding", outputs={"found": "$steps.find.outputs.id"})
    outer = WrittenStep(
        step_id="look",
        workflow=inner,
        arguments={"city": "{$inputs.city}!"},
        criteria=(Criterion(condition="$statusCode == 200"),),
        outputs={"id": "$outputs.found"},
    )
    book = with_(BOOK, arguments={"id": "$steps.look.outputs.id"})
    workflow = flow(outer, book)
    found = StepAnswer("look/find", "succeeded", 200, body={"items": [{"id": "a1"}]})

    assert move(workflow) == CallMove("look/find", "search", {"city": "Rome!"}, "find")
    assert move(workflow, found) == CallMove("book", "book", {"id": "a1"}, "book")
    failed = move(workflow, StepAnswer("look/find", "rejected", 500, error="down"))
    assert failed == FailMove("look", "look/find: down")


def test_a_retry_carries_out_what_it_names_first() -> None:
    token = WrittenStep(step_id="token", tool="token", outputs={"t": "$response.body#/t"})
    call = WrittenStep(
        step_id="call",
        tool="call",
        arguments={"t": "$steps.token.outputs.t"},
        on_failure=(Action(name="renew", kind="retry", step_id="token"),),
    )
    workflow = flow(token, call)
    first = StepAnswer("token", "succeeded", 200, body={"t": 1})
    expired = StepAnswer("call", "rejected", 401)

    assert move(workflow, first, expired) == CallMove("token", "token", {}, "token")
    renewed = StepAnswer("token", "succeeded", 200, body={"t": 2})
    assert move(workflow, first, expired, renewed) == CallMove("call", "call", {"t": 2}, "call")


def test_a_goto_to_a_workflow_transfers_for_good() -> None:
    to: JsonObject = {"to": "$inputs.city"}
    mail = WrittenStep(step_id="mail", tool="mail", arguments=to, is_consequence=True)
    apology = flow(mail, workflow_id="apology", outputs={"sorry": "$inputs.city"})
    leave = Action(name="sorry", kind="goto", workflow=apology, arguments={"city": "Oslo"})
    workflow = flow(with_(FIND, on_failure=(leave,)), BOOK)
    failed = StepAnswer("find", "rejected", 404)

    assert move(workflow, failed) == CallMove("find.sorry/mail", "mail", {"to": "Oslo"}, "mail")
    mailed = StepAnswer("find.sorry/mail", "succeeded", 200)
    assert move(workflow, failed, mailed) == EndMove({"sorry": "Oslo"}, ("book",))


def test_an_output_without_a_value_is_named_at_the_end() -> None:
    ended = move(flow(FIND, outputs={"x": "$response.header.X"}), FOUND)
    assert isinstance(move(flow(FIND), StepAnswer("other", "succeeded", 200)), FailMove)

    assert isinstance(ended, EndMove)
    assert ended.outputs == {}
    assert "'x'" in ended.missing[0]


def test_a_loop_without_end_ends() -> None:
    again = Action(name="again", kind="goto", step_id="find")
    answers = [FOUND] * MOST_CALLS_OF_A_STEP

    failed = move(flow(with_(FIND, on_success=(again,))), *answers)

    assert isinstance(failed, FailMove)
    assert "loop" in failed.reason


def test_the_request_is_read_by_expressions() -> None:
    shape = {
        "method": "POST",
        "url": "https://x/{id}/y",
        "places": {"id": "path:id", "q": "query:q", "h": "header:X-H", "n": "body:name"},
    }
    read = ["$url", "$method", "$request.path.id", "$request.header.x-h", "$request.body#/name"]
    step = with_(FIND, request=shape, outputs={"all": read})
    arguments: JsonObject = {"id": "a/b", "q": "z z", "h": "1", "n": "N"}
    answer = StepAnswer("find", "succeeded", 200, arguments=arguments)

    ended = move(flow(step, outputs={"all": "$steps.find.outputs.all"}), answer)

    assert isinstance(ended, EndMove)
    assert ended.outputs["all"] == ["https://x/a%2Fb/y?q=z+z", "POST", "a/b", "1", "N"]


# -- properties ------------------------------------------------------------------------------------

IDS = ("a", "b", "c", "d")
CRITERIA = st.lists(
    st.sampled_from(["$statusCode == 200", "$statusCode >= 400", "$response.body#/n > 3"]),
    max_size=1,
).map(lambda texts: tuple(Criterion(condition=text) for text in texts))


@st.composite
def actions(draw: st.DrawFn, kinds: Sequence[str]) -> tuple[Action, ...]:
    count = draw(st.integers(0, 2))
    return tuple(
        Action.model_validate(
            {
                "name": f"n{index}",
                "kind": (kind := draw(st.sampled_from(kinds))),
                "step_id": draw(st.sampled_from(IDS)) if kind == "goto" else "",
                "retry_limit": draw(st.integers(0, 150)),
                "criteria": draw(CRITERIA),
            }
        )
        for index in range(count)
    )


@st.composite
def workflows(draw: st.DrawFn) -> WrittenWorkflow:
    steps = [
        WrittenStep(
            step_id=name,
            tool=name,
            is_consequence=draw(st.booleans()),
            repeats=draw(st.integers(1, 3)),
            criteria=draw(CRITERIA),
            on_success=draw(actions(["end", "goto"])),
            on_failure=draw(actions(["end", "goto", "retry"])),
        )
        for name in IDS
    ]
    return WrittenWorkflow(workflow_id="w", steps=tuple(steps))


ANSWERS = st.fixed_dictionaries(
    {
        "outcome": st.sampled_from(["succeeded", "rejected", "unknown", "refused", "invalid"]),
        "status": st.sampled_from([None, 200, 201, 404, 409, 500]),
        "body": st.fixed_dictionaries({"n": st.integers(0, 9)}),
    }
)


@settings(deadline=None, max_examples=100)
@given(workflow=workflows(), drawn=st.lists(ANSWERS, min_size=1, max_size=8))
def test_any_answers_end_and_never_repeat_an_effect(
    workflow: WrittenWorkflow, drawn: list[dict[str, object]]
) -> None:
    """The answers come again and again, as of a provider that behaves the same for ever."""
    answers: list[StepAnswer] = []
    with patch("orchestrator.arazzo.engine.MOST_CALLS_OF_A_STEP", 12):
        found = next_move(workflow, {}, answers)
        while isinstance(found, CallMove):
            assert found == next_move(workflow, {}, list(answers))
            answer = drawn[len(answers) % len(drawn)]
            answers.append(StepAnswer(found.step_id, **answer))  # type: ignore[arg-type]
            assert len(answers) <= MOST_CALLS
            found = next_move(workflow, {}, answers)

    made = Counter(a.step_id for a in answers if a.outcome in ("succeeded", "unknown"))
    for step in workflow.steps:
        assert not step.is_consequence or made[step.step_id] <= step.repeats
