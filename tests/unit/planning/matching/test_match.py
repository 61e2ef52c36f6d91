"""What a goal names must be what a call takes; else a person is asked, and told what was found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.catalog.tool import Effect
from orchestrator.core.record import JsonObject
from orchestrator.planning.matching.left_out import doubts_of_filters
from orchestrator.planning.matching.match import doubts_of
from orchestrator.planning.matching.taken import FinderAnswer, TakenCall
from orchestrator.saga.served import Order
from tests.unit.planning.matching.conftest import (
    BILLS,
    DROP_ROOM,
    FIND_BILLS,
    FIND_BOARDS,
    FIND_CHANNELS,
    FIND_ROOMS,
    PLAN_TALK,
    POST,
    SEND_NOTE,
    SETTLE_BILL,
    TAKE_ROOM,
    TELL,
    Take,
    room,
    tool,
)

STAY: JsonObject = {"city": "Turin", "check_in": "2026-12-03", "check_out": "2026-12-05"}


def asked_about(call: TakenCall) -> list[str]:
    return [doubt.about for doubt in doubts_of(call)]


def settle(take: Take, bill: str, clause: str, **more: object) -> TakenCall:
    return take(SETTLE_BILL, {"bill_id": bill}, clause, (FIND_BILLS, {}, BILLS), **more)


def rooms(
    take: Take, clause: str, *found: JsonObject, asked: JsonObject | None = None
) -> TakenCall:
    """The first of the rooms that were found is taken."""
    body: JsonObject = {"found": [*found]}
    wanted: JsonObject = {"room_id": found[0]["room_id"]}
    return take(TAKE_ROOM, wanted, clause, (FIND_ROOMS, asked or {}, body))


@pytest.mark.parametrize(
    ("clause", "time", "asked"),
    [
        ("take a room for lunch", "19:00", ["lunch"]),
        ("take a room for lunch", "12:30", []),
        ("take a room in the evening", "08:20", ["evening"]),
        ("take a room for dinner at 19:00", "19:00", []),
    ],
)
def test_what_begins_in_another_part_of_the_day_is_asked_about(
    take: Take, clause: str, time: str, asked: list[str]
) -> None:
    """A filter by hours that nothing fits is not dropped."""
    found: JsonObject = {"room_id": "r-1", "start_time": time}
    assert asked_about(rooms(take, clause, found)) == asked


# -- names ----------------------------------------------------------------------------------------


def test_the_wrong_vendor_is_asked_about_with_the_right_one(take: Take) -> None:
    """Said is one vendor, found another: the question names both, and offers what fits."""
    (doubt,) = doubts_of(settle(take, "b-1", "settle the bill of Acme"))

    assert (doubt.kind, doubt.about) == ("not_matched", "Acme")
    assert "'Acme'" in doubt.why
    assert "Globex" in doubt.why
    assert doubt.choices == ("Acme Ltd, 120.00 EUR",)


def test_what_is_said_twice_is_asked_about_once(take: Take) -> None:
    """The same question twice helps nobody, and takes the place of another."""
    twice = settle(take, "b-1", "settle the bill over 7 EUR, I mean it, the bill over 7 EUR")

    assert asked_about(twice) == ["7 EUR"]


def test_no_question_shows_an_id(take: Take) -> None:
    """What is offered is what a person would call it."""
    doubts = doubts_of(settle(take, "b-1", "settle the bill of Initech"))

    assert doubts
    assert "b-2" not in str(doubts)


@pytest.mark.parametrize(
    "clause",
    [
        "settle the bill of Acme",
        "settle the bill of ACME Ltd.",
        "settle the Acme bill",
        "settle the bill of Acmé",
        "settle the bill over 120 EUR",
        "settle a bill",
    ],
)
def test_what_matches_in_other_words_is_not_asked_about(take: Take, clause: str) -> None:
    """Case, accents, a part of a name, an amount: all of it is in what was found."""
    assert doubts_of(settle(take, "b-2", clause)) == ()


def channel(take: Take, said: str, *names: str) -> TakenCall:
    """The first of the channels that were found is written to."""
    body: JsonObject = {"found": [{"channel_id": f"c-{n}", "channel_name": n} for n in names]}
    wanted: JsonObject = {"channel_id": f"c-{names[0]}", "text": "lunch is at noon"}
    return take(TELL, wanted, f"message {said} that lunch is at noon", (FIND_CHANNELS, {}, body))


@pytest.mark.parametrize("said", ["the finance team", "the Finance team", "the finance channel"])
def test_what_a_named_thing_is_is_no_part_of_its_name(take: Take, said: str) -> None:
    """The search says that it finds teams, a field's name that it is a channel."""
    assert doubts_of(channel(take, said, "finance", "team")) == ()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("the finance team", ["team", "finance"]),  # only what it is, is borne
        ("the finance team", ["finance", "finance team"]),  # another bears all of it
        ("the finance crew", ["finance"]),  # nothing here is called a crew
        ("the Finance Team", ["finance"]),  # that is a name
    ],
)
def test_a_name_that_what_it_is_does_not_explain_is_asked_about(
    take: Take, said: str, found: list[str]
) -> None:
    """The words for what a thing is neither stand for its name nor tell two things apart."""
    assert asked_about(channel(take, said, *found)) == [said]


def test_another_amount_is_asked_about(take: Take) -> None:
    """The bill of the right vendor over another sum is another bill."""
    (doubt,) = doubts_of(settle(take, "b-2", "settle the bill of Acme over 95 EUR"))

    assert doubt.about == "95 EUR"
    assert "'Acme Ltd', with total 120.00 EUR" in doubt.why


def test_another_currency_is_another_amount(take: Take) -> None:
    """The same number in another currency is not the same money."""
    assert asked_about(settle(take, "b-2", "settle the bill of Acme over 120 USD")) == ["120 USD"]


@pytest.mark.parametrize("answer", [{"bill_id": "b-1"}, {"bill_ids": ["b-2", "b-1"]}])
def test_a_person_who_chose_what_was_found_is_not_asked_again(
    take: Take, answer: JsonObject
) -> None:
    """Who answers with the thing itself, or with several, knows what it is called."""
    call = settle(take, "b-1", "settle the bill of Acme", given=answer, answered=answer)

    assert doubts_of(call) == ()


def test_an_id_that_came_with_the_goal_still_stands_for_what_it_stands_for(take: Take) -> None:
    """A goal that names one vendor and brings the id of another contradicts itself."""
    call = settle(take, "b-1", "settle the bill of Acme", given={"bill_id": "b-1"})

    assert asked_about(call) == ["Acme"]


def test_what_a_person_wants_instead_takes_the_place_of_the_goal(take: Take) -> None:
    """Once sent back with another name, that name is what was said."""
    said = "settle the bill of Acme"

    assert doubts_of(settle(take, "b-1", said, hints=("rather Globex",))) == ()
    assert asked_about(settle(take, "b-2", said, hints=("rather Globex",))) == ["Globex"]


def test_what_a_planner_adds_to_the_goal_of_a_leg_nobody_said(take: Take) -> None:
    """Only what a person did say is what they said."""
    call = settle(take, "b-2", "settle the bill of Initech", goal="settle what is due")

    assert doubts_of(call) == ()


def test_a_leg_in_other_words_is_held_against_the_goal(take: Take) -> None:
    """A planner's paraphrase does not lose the name that was said."""
    goal = "settle the bill of Acme"

    assert asked_about(settle(take, "b-1", "settle the bill", goal=goal)) == ["Acme"]


def test_what_another_clause_names_is_the_affair_of_another_leg(take: Take) -> None:
    """Only what is said for this call counts."""
    goal = "settle the bill of Acme and take a room in Turin"

    assert doubts_of(settle(take, "b-2", "settle the bill of Acme", goal=goal)) == ()


def test_a_list_of_names_may_be_several_calls(take: Take) -> None:
    """Each call is for one of them where its order counts as many; else it is to bear them all."""
    said = "settle the bills of Acme and Globex"
    orders = (Order(clause=said, count=2),)
    one, other = settle(take, "b-1", said), settle(take, "b-2", said)

    assert doubts_of(replace(one, orders=orders)) == ()
    assert doubts_of(replace(other, orders=orders)) == ()
    assert asked_about(one) == ["Acme"]
    assert asked_about(other) == ["Globex"]


def test_what_points_back_means_what_was_looked_for(take: Take) -> None:
    """The bill is meant that the clause before was about."""
    goal = "look up the bill of Acme and settle it"

    assert asked_about(settle(take, "b-1", "settle it", goal=goal)) == ["Acme"]
    assert doubts_of(settle(take, "b-2", "settle it", goal=goal)) == ()


# -- files, whole names ---------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["is next", "is the oldest", "is the cheapest"])
def test_what_puts_things_in_an_order_is_in_none_of_them(take: Take, order: str) -> None:
    """Of a question before what is ordered."""
    assert asked_about(settle(take, "b-1", f"which bill {order}? settle it")) == []


def test_a_file_name_is_matched_whole(take: Take) -> None:
    """A longer name that holds it is another file."""
    body: JsonObject = {"found": [{"bill_id": "f-1", "name": "plan-2026.pdf.bak"}]}

    call = take(SETTLE_BILL, {"bill_id": "f-1"}, "settle plan-2026.pdf", (FIND_BILLS, {}, body))

    assert asked_about(call) == ["plan-2026.pdf"]


# -- places, days, hours, numbers -----------------------------------------------------------------


def test_another_city_is_asked_about(take: Take) -> None:
    """A search filter counts only where the thing itself does not say otherwise."""
    doubts = rooms(take, "take a room in Turin", room(1, "Bergen"), room(2, "Turin"), asked=STAY)

    assert asked_about(doubts) == ["Turin"]


def test_what_was_searched_by_counts_where_the_thing_says_nothing_else(take: Take) -> None:
    """The answer to a search for a city and days need not repeat them."""
    found: JsonObject = {"room_id": "r-1", "name": "House 1"}
    said = "take a room in Turin from 2026-12-03 to 2026-12-05"

    assert doubts_of(rooms(take, said, found, asked=STAY)) == ()


def test_a_search_for_another_day_is_asked_about(take: Take) -> None:
    """The day that was said is nowhere."""
    said = "take a room in Turin from 2026-12-03 to 2026-12-08"

    assert asked_about(rooms(take, said, room(1, "Turin"), asked=STAY)) == ["2026-12-08"]


def test_a_length_of_time_is_found_between_two_days(take: Take) -> None:
    """Two nights are those between the third and the fifth."""
    said = "take a room in Turin for {} nights"

    assert doubts_of(rooms(take, said.format("two"), room(1, "Turin"), asked=STAY)) == ()
    assert asked_about(rooms(take, said.format("four"), room(1, "Turin"), asked=STAY)) == [
        "four nights"
    ]


def test_a_number_of_people_is_asked_about(take: Take) -> None:
    """A room for two is not a room for five."""
    asked: JsonObject = {**STAY, "guests": 2}
    said = "take a room in Turin for {} people"

    assert doubts_of(rooms(take, said.format(2), room(1, "Turin"), asked=asked)) == ()
    assert asked_about(rooms(take, said.format(5), room(1, "Turin"), asked=asked)) == ["5 people"]


def test_words_in_a_title_prove_nothing_of_an_hour(take: Take) -> None:
    """A meeting from two to four lasts as long as its inputs say."""
    said = "plan a talk with Bo on 2026-12-03 from 14:00 to 16:00"
    wanted: JsonObject = {"title": said, "starts_at": "2026-12-03T14:00:00Z"}

    assert asked_about(take(PLAN_TALK, {**wanted, "duration_minutes": 60}, said)) == ["16:00"]
    assert doubts_of(take(PLAN_TALK, {**wanted, "duration_minutes": 120}, said)) == ()


def test_a_part_of_the_day_that_tells_which_hour_is_meant_is_no_word_of_its_own(take: Take) -> None:
    """Without an hour of it, it is a part of what was said."""
    wanted: JsonObject = {"title": "Talk", "starts_at": "2026-12-03T15:30:00Z"}
    said = "plan a talk on 2026-12-03 at half past three in the afternoon"

    assert doubts_of(take(PLAN_TALK, {**wanted, "duration_minutes": 60}, said)) == ()


def test_a_number_counts_the_noun_at_the_end(take: Take) -> None:
    """Two short talks are two talks, and no two of anything else."""
    wanted: JsonObject = {"title": "Talk", "starts_at": "2026-12-03T15:30:00Z"}
    said = "plan two piano talks on 2026-12-03 at 15:30"

    assert "two piano" not in asked_about(take(PLAN_TALK, {**wanted, "duration_minutes": 60}, said))


def test_a_clause_that_takes_its_verb_from_before_is_said_whole(take: Take) -> None:
    """What the goal says of the things beside it is of those."""
    goal = "drop my bill in Rome and my room in Rome"
    stay: JsonObject = {"stay_id": "s-1", "name": "House", "city": "Rome"}
    search = (FIND_ROOMS, {"city": "Rome"}, {"found": [stay]})
    call = take(DROP_ROOM, {"stay_id": "s-1"}, "drop my room in Rome", search, goal=goal)

    assert asked_about(call) == []


def test_what_an_hour_bounds_is_when_it_begins(take: Take) -> None:
    """Who wants to leave after six does not mean to arrive after six."""
    trip = room(1, "Turin", departure_time="14:35", arrival_time="19:25")
    late = room(2, "Turin", departure_time="18:40", arrival_time="22:00")
    said = "take a room in Turin leaving after 18:00"

    assert asked_about(rooms(take, said, trip, late)) == ["18:00"]
    assert doubts_of(rooms(take, said, late, trip)) == ()


# -- qualities ------------------------------------------------------------------------------------


def test_a_quality_that_a_search_takes_and_nobody_used_is_asked_about(take: Take) -> None:
    """The search has it among its values; what is taken does not say so."""
    said = "take a room in Turin with breakfast"

    assert asked_about(rooms(take, said, room(1, "Turin"))) == ["breakfast"]
    assert doubts_of(rooms(take, said, room(1, "Turin"), asked={"board": "breakfast"})) == ()


def test_a_quality_that_others_have_is_asked_about(take: Take) -> None:
    """Another that was found says yes to it."""
    plain, quiet = room(1, "Turin", is_quiet=False), room(2, "Turin", is_quiet=True)
    said = "take a quiet room in Turin"

    (doubt,) = doubts_of(rooms(take, said, plain, quiet))

    assert "quiet" in doubt.about
    assert doubts_of(rooms(take, said, quiet, plain)) == ()


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("take a room in Turin and sing a song", "sing a song"),
        ("take a room in Turin, by candlelight", "candlelight"),
        ("take a room in Turin for the honeymoon suite rate", "honeymoon suite rate"),
    ],
)
def test_words_that_no_tool_speaks_of_and_nothing_bears_are_asked_about(
    take: Take, said: str, left: str
) -> None:
    """Whatever they are: what is said and not done is not passed over."""
    assert asked_about(rooms(take, said, room(1, "Turin"))) == [left]


def test_a_word_of_an_example_tells_things_apart(take: Take) -> None:
    """What people may say to a tool names things of theirs, and not what the tool deals in."""
    tool = TAKE_ROOM.model_copy(update={"examples": ("take the penthouse",)})
    taken = room(1, "Turin")
    wanted: JsonObject = {"room_id": taken["room_id"]}
    found: JsonObject = {"found": [taken]}
    call = take(tool, wanted, "take the penthouse in Turin", (FIND_ROOMS, {}, found))

    assert "penthouse" in " ".join(asked_about(call))


@pytest.mark.parametrize(
    "said",
    [
        "take a room in Turin starting 3 December",
        "take a room in Turin till 5 December",
        "take a room in Turin, she limps",
        "take a room called Harbour in Turin",
    ],
)
def test_words_that_only_introduce_or_remark_are_not(take: Take, said: str) -> None:
    """They say nothing of what is taken."""
    found = room(1, "Turin", title="Harbour", check_in="2026-12-03", check_out="2026-12-05")

    assert doubts_of(rooms(take, said, found)) == ()


@pytest.mark.parametrize("which", ["the second cheapest", "the last", "the cheapest but one"])
def test_a_place_in_an_order_is_no_quality_of_what_stands_there(take: Take, which: str) -> None:
    """Which one stands there, the planner counts; the thing itself does not say "second"."""
    said = f"take {which} room in Turin"

    assert doubts_of(rooms(take, said, room(2, "Turin"), room(1, "Turin"))) == ()
    assert asked_about(rooms(take, f"{said} with a terrace", room(2, "Turin"))) == ["terrace"]


def test_what_must_not_be_is_asked_about(take: Take) -> None:
    """The very thing that was ruled out is not taken silently."""
    ruled_out, other = room(1, "Turin", street="Hilton Lane"), room(2, "Turin")
    said = "take a room in Turin, but not in Hilton Lane"

    assert asked_about(rooms(take, said, ruled_out, other)) != []
    assert doubts_of(rooms(take, said, other, ruled_out)) == ()


# -- cancels --------------------------------------------------------------------------------------


def test_a_stay_elsewhere_is_not_cancelled_silently(take: Take) -> None:
    """The one stay that is known is in another city than was said."""
    stay: JsonObject = {"stay_id": "s-1", "name": "House 1", "city": "Bergen"}
    said = "cancel the room in Turin"

    from_an_answer = take(DROP_ROOM, {"stay_id": "s-1"}, said, (TAKE_ROOM, {}, stay))
    from_a_probe = take(DROP_ROOM, {"stay_id": "s-1"}, said, probed=(stay,))

    assert asked_about(from_an_answer) == ["Turin"]
    assert asked_about(from_a_probe) == ["Turin"]


# -- people ---------------------------------------------------------------------------------------


def note(take: Take, said: str, to: str, body: str = "hello") -> TakenCall:
    return take(SEND_NOTE, {"to": to, "body": body}, said)


def test_an_address_that_bears_the_name_is_the_person(take: Take) -> None:
    """Nobody is asked whether anna@example.com is Anna."""
    assert doubts_of(note(take, "send Anna a note saying hello", "anna@example.com")) == ()
    assert asked_about(note(take, "send Anna a note saying hello", "bo@example.com")) == ["Anna"]


def test_a_text_that_tells_several_apart_is_shown(take: Take) -> None:
    """Each of them is to be told another thing."""
    text = "the first about rent, the second about heat"
    both = f"send notes to anna@example.com and bo@example.com: {text}"

    assert "body" in asked_about(note(take, both, "anna@example.com", text))
    one = f"send a note to anna@example.com: {text}"
    assert asked_about(note(take, one, "anna@example.com", text)) == []


def test_an_address_that_a_person_gave_is_the_person(take: Take) -> None:
    """Who was asked for the address has said whose it is."""
    answer: JsonObject = {"to": "x1@example.com"}
    said = "send Anna a note saying hello"

    call = take(SEND_NOTE, {**answer, "body": "hello"}, said, given=answer, answered=answer)

    assert doubts_of(call) == ()


@pytest.mark.parametrize(
    ("whom", "people", "is_asked"),
    [
        ("Anna", ("Bo Lind",), True),
        ("Anna", ("Anna Lind",), False),
        ("anna@acme.io", ("Anna Lind",), True),
        ("anna@acme.io", ("Anna Lind", "bo@acme.io"), True),
        ("anna@acme.io", ("Anna Lind", "anna@acme.io"), False),
    ],
)
def test_the_person_whose_values_are_sent_is_the_one_who_was_named(
    take: Take, whom: str, people: tuple[str, ...], is_asked: bool
) -> None:
    """What the vault holds is compared, and nothing of it is repeated."""
    wanted: JsonObject = {"room_id": "r-1", "guest_name": "pii:guest_name"}
    body: JsonObject = {"found": [room(1, "Turin")]}

    call = take(
        TAKE_ROOM, wanted, f"take a room in Turin for {whom}", (FIND_ROOMS, {}, body), people=people
    )

    assert asked_about(call) == [whom][: int(is_asked)]
    assert "Lind" not in str(doubts_of(call))


# -- filters --------------------------------------------------------------------------------------


def test_a_thing_that_was_found_without_a_filter_is_asked_about(take: Take) -> None:
    """A search that finds nothing with a filter does not make another thing the right one."""
    nothing: JsonObject = {"found": []}
    narrow: JsonObject = {"city": "Turin", "board": "half"}
    found: JsonObject = {"found": [room(1, "Turin"), room(2, "Turin")]}

    call = take(
        TAKE_ROOM,
        {"room_id": "r-1"},
        "take a room in Turin",
        (FIND_ROOMS, narrow, nothing),
        (FIND_ROOMS, {"city": "Turin"}, found),
    )
    (doubt,) = doubts_of(call)

    assert "nothing was found with board half" in doubt.why
    assert doubt.choices == ("House 2, Turin",)


@pytest.mark.parametrize(
    ("clause", "searched", "body", "asked"),
    [
        ("post 'we are live' to the board", "live", "we are live", []),
        ("post 'we are live' to the staff board", "staff", "we are live", ["query staff"]),
        ("post 'we are live' to the board", "live", "Good news", ["query live"]),
    ],
)
def test_words_of_a_text_that_is_passed_on_are_no_filter(
    take: Take, clause: str, searched: str, body: str, asked: list[str]
) -> None:
    """Whoever searched by what is only to be said has left nothing out; all else is asked."""
    boards: JsonObject = {"found": [{"board_id": "d-1", "name": "Main board"}]}

    call = take(
        POST,
        {"board_id": "d-1", "body": body},
        clause,
        (FIND_BOARDS, {"query": searched}, {"found": []}),
        (FIND_BOARDS, {}, boards),
    )

    assert [d.about for d in doubts_of_filters(call)] == asked


# -- what is told, and what it is about -----------------------------------------------------------


def test_a_part_of_what_is_to_be_told_is_not_left_out(take: Take) -> None:
    """The text may be in other words; a part of which it has none was dropped."""
    said = "email ana@x.org that I am late, that the keys are at the desk and the door is open"
    sent: JsonObject = {"to": "ana@x.org", "body": "I am running late; the door is open."}
    whole: JsonObject = {**sent, "body": "Running late. Keys: desk. The door stays open."}

    assert len(asked_about(take(SEND_NOTE, sent, said))) == 1
    assert doubts_of(take(SEND_NOTE, whole, said)) == ()


def test_what_goes_on_about_a_look_in_vain_is_asked_about(take: Take) -> None:
    """Nobody is told that "it is ready" of what was not found."""
    said = "email ana@x.org that it is ready"
    sent: JsonObject = {"to": "ana@x.org", "body": "it is ready"}
    in_vain = FinderAnswer(
        body={"boards": []}, arguments={"query": "sales"}, title="Find boards", finder=FIND_BOARDS
    )

    (doubt,) = doubts_of(take(SEND_NOTE, sent, said, found_nothing=(in_vain,)))

    assert doubt.about == "query sales"
    assert "found nothing" in doubt.why


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (
            "post on b-1 with the text hello and another one with the text bye",
            "hello and another one with the text bye",
        ),
        ("post on b-1 saying hello and on b-2 saying bye", "hello and on b-2 saying bye"),
        ("post on b-1: hello, and goodbye to #random", "hello, and goodbye to #random"),
    ],
)
def test_a_text_that_swallows_what_follows_is_shown(take: Take, said: str, body: str) -> None:
    """Nothing tells where it ends: a person sees what would be written."""
    doubts = doubts_of(take(POST, {"board_id": "b-1", "body": body}, said))

    assert any(repr(body) in doubt.why for doubt in doubts)


@pytest.mark.parametrize(
    ("said", "body"),
    [
        ("post on b-1 that I said hello and she said bye", "I said hello and she said bye"),
        ("post on b-1: eggs, milk and bread", "eggs, milk and bread"),
        ('post on b-1 saying "hello and the text bye"', "hello and the text bye"),
        ("post on b-1 saying write to eva@x.org", "write to eva@x.org"),
    ],
)
def test_a_text_that_is_one_is_not(take: Take, said: str, body: str) -> None:
    """It is quoted, or begins nothing else."""
    assert doubts_of(take(POST, {"board_id": "b-1", "body": body}, said)) == ()


def test_whom_only_the_text_names_is_not_told(take: Take) -> None:
    """A name in a message reaches nobody."""
    sent: JsonObject = {"channel_id": "c-1", "text": "Ana, I am late"}

    assert asked_about(take(TELL, sent, "tell Ana that I am late")) == ["Ana"]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Book a room in Rome with a pool and parking", ["pool", "parking"]),
        ("Book a room in Rome with a pool and a garden", ["pool"]),
        ("Book a room in Rome with a pool or a garden", []),
        ("Book a room in Rome with late checkout", ["late checkout"]),
        ("Book a room in Rome, the Park Lodge", []),
    ],
)
def test_each_wish_is_held_against_what_is_taken(take: Take, said: str, asked: list[str]) -> None:
    """A name that sounds like it is no proof, and one of two wishes is not both."""
    lodge = {**room(1, "Rome", has_garden=True), "name": "Park Lodge"}

    assert asked_about(rooms(take, said, lodge)) == asked


def test_one_day_of_two_that_were_said_is_not_both(take: Take) -> None:
    """A call that takes two days is held against both, whatever they are called."""
    day: JsonObject = {"type": "string", "format": "date"}
    board = tool("board_pet", Effect.OBLIGATION, {"arrives": day, "leaves": day})
    said = "board the pet from 3 to 6 March 2027"

    twice = take(board, {"arrives": "2027-03-03", "leaves": "2027-03-03"}, said)

    assert asked_about(twice) == ["6 March 2027"]


def test_what_is_counted_is_told_apart_by_what_stands_between(take: Take) -> None:
    """The number swallows no word: two double rooms are no family rooms."""
    family: JsonObject = {"room_id": "r-1", "size_name": "family"}
    asked = asked_about(rooms(take, "take two adjoining rooms", family))
    assert "adjoining rooms" in asked
