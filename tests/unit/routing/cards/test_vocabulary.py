"""What a catalog's own words say, and what those of a request say for each card."""

from collections.abc import Callable

from orchestrator.catalog.tool import Tool
from orchestrator.language.intent import Slot
from orchestrator.language.words import content_stems
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.cards.vocabulary import CatalogVocabulary, EvidenceIndex
from orchestrator.routing.profile import FeatureWeights, RoutingProfile


def test_words_speak_for_the_domain_that_uses_them(make_tool: Callable[..., Tool]) -> None:
    """The fewer domains use a word, the more it counts; of unknown words no guess is made."""
    tools = [
        make_tool("ferry_find", "Find ferry bookings.", domain="ferries"),
        make_tool("ferry_book", "Board a ferry.", domain="ferries"),
        make_tool("spa_book", "Reserve a massage booking.", domain="spa"),
    ]
    words = CatalogVocabulary([make_card(tool) for tool in tools])

    assert words.best_domain(content_stems("a ferry please")) == "ferries"
    assert words.best_domain(content_stems("massage booking")) == "spa"
    assert words.best_domain(["xyzzy"]) is None


def evidence_index(make_tool: Callable[..., Tool], **weights: float) -> EvidenceIndex:
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
    evidence = evidence_index(make_tool).find(content_stems("crossings therapist home animal"))

    assert evidence.fields.argmax(axis=1).tolist() == [0, 1, 2]


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
    words = evidence_index(make_tool)
    alone = words.find(["ferri"]).strength
    among = words.find(["ferri", "xyzzi", "plugh"]).strength
    place = Slot(kind="place", value="xyzzy plugh", text="xyzzy plugh", position=0)
    with_values = words.find(["ferri", "xyzzi", "plugh"], [place])

    assert 0 < among < alone
    assert with_values.strength == alone
