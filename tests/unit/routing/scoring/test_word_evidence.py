"""What the words of a request say for each card."""

from collections.abc import Callable

import numpy as np

from orchestrator.catalog.tool import Tool
from orchestrator.language.intent import Slot
from orchestrator.language.words import content_stems
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.profile import FeatureWeights, RoutingProfile
from orchestrator.routing.scoring.word_evidence import FIELDS, EvidenceIndex


def index(make_tool: Callable[..., Tool], **weights: float) -> EvidenceIndex:
    """Four tools, each found by another field."""
    tools = [
        make_tool("ferry_find", "Find crossings over the sea."),
        make_tool("spa_book", inputs={"therapist": {"description": "who kneads"}}),
        make_tool("taxi_ride", examples=("bring me home",)),
        make_tool("vet_visit", intent_tags=("animal.health",)),
    ]
    profile = RoutingProfile(weights=FeatureWeights(**weights))
    return EvidenceIndex([make_card(tool) for tool in tools], profile)


def test_each_field_finds_its_tool(make_tool: Callable[..., Tool]) -> None:
    """Text, schema, examples and tags are told apart."""
    evidence = index(make_tool).find(content_stems("crossings therapist home animal"))

    assert evidence.fields.argmax(axis=1).tolist() == [0, 1, 2]


def test_the_total_is_the_weighted_sum(make_tool: Callable[..., Tool]) -> None:
    """Weights are those of the profile."""
    weights = FeatureWeights(text=2, schema_text=0.5, examples=1)
    found = index(make_tool, **weights.model_dump()).find(content_stems("ferry therapist home"))

    expected = sum(getattr(weights, f) * s for f, s in zip(FIELDS, found.fields, strict=True))

    np.testing.assert_allclose(found.total, expected)


def test_taken_as_one_the_fields_count_a_word_once(make_tool: Callable[..., Tool]) -> None:
    """One word in every field is outdone by two words; field by field, it is the other way."""
    said = [("ferry_find", "ferry"), ("ferry_price", "boat"), ("spa_book", "towel")]
    tools = [make_tool(name, inputs={word: {}}, examples=(word,)) for name, word in said]
    words = EvidenceIndex([make_card(tool) for tool in tools], RoutingProfile())
    found = words.find(content_stems("ferry price"))

    assert found.joint.argmax() == 1
    assert found.total.argmax() == 0


def test_words_nobody_knows_weaken_it(make_tool: Callable[..., Tool]) -> None:
    """The same word counts less among unknown ones, and more among known values."""
    words = index(make_tool)
    alone = words.find(["ferri"]).strength
    among = words.find(["ferri", "xyzzi", "plugh"]).strength
    place = Slot(kind="place", value="xyzzy plugh", text="xyzzy plugh", position=0)
    with_values = words.find(["ferri", "xyzzi", "plugh"], [place])

    assert 0 < among < alone
    assert with_values.strength == alone


def test_words_of_one_family_meet(make_tool: Callable[..., Tool]) -> None:
    """Analysis finds analyze, at less than its own weight."""
    tools = [make_tool(f"soil_{verb}") for verb in ("analyze", "dig", "sell", "water")]
    cards = [make_card(tool) for tool in tools]
    words = EvidenceIndex(cards, RoutingProfile())
    exact = words.find(content_stems("analyze")).total
    related = words.find(content_stems("analysis")).total

    assert 0 < related[0] < exact[0]
    assert related[1] == 0


def test_nothing_said_is_no_evidence(make_tool: Callable[..., Tool]) -> None:
    """An empty text has no mass and no strength."""
    evidence = index(make_tool).find([])

    assert evidence.mass == 0
    assert evidence.strength == 0
