"""Which language a goal is in: told where it is sure, and of no English."""

import json
import sys
from pathlib import Path
from subprocess import run

import pytest

from orchestrator.language.detect import foreign_in


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Buche einen Flug nach Rom morgen", "German"),
        ("Réserve une table pour deux personnes demain soir", "French"),
        ("Reserva un hotel en Madrid", "Spanish"),
        ("Reserve um hotel em Lisboa", "Portuguese"),
        ("Prenota un tavolo per due", "Italian"),
        ("Zoek een vlucht naar Amsterdam", "Dutch"),
        ("Zarezerwuj lot do Warszawy", "Polish"),
        ("Забронируй отель в Москве", "Russian"),
        ("東京のホテルを予約して", "Japanese"),
        ("احجز فندقا في دبي", "Arabic"),
        ("cancela mi reserva", "a language that is not English"),
        ("Danach schick Anna eine Nachricht", "German"),
    ],
)
def test_another_language_is_told(text: str, name: str) -> None:
    """Also in a few words, and of one sentence after an English one; named where it is sure."""
    before = "Book a hotel in Rome. " if text.startswith("Danach") else ""
    foreign = foreign_in(before + text)

    assert foreign is not None
    assert (foreign.text, foreign.name) == (text, name)


@pytest.mark.parametrize(
    "text",
    ["list files", "refund", "Hotel in Paris", "cheapest hotel Lisbon",
     "order 2 pizza margherita", "Find a hotel near Friedrichstraße 12 in Berlin",
     "Reserve a room at Hôtel de la Paix", "Invite Jürgen Müller to lunch",
     "send Bo a message saying Danke schön für alles",
     "Tell Anna: Ich komme später, bitte warte auf mich",
     'Send "Bonjour à tous, la réunion est annulée" to team@example.com'],
)  # fmt: skip
def test_names_and_what_is_said_are_in_any_language(text: str) -> None:
    """A goal in English about them, and a text too short to tell, are English."""
    assert foreign_in(text) is None


def test_everyday_requests_are_english() -> None:
    """Of several hundred exactly those are told foreign that are."""
    path = Path(__file__).parents[2] / "benchmarks" / "everyday_fresh.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]

    told = [c for c in cases if foreign_in(c["request"]) is not None]

    assert told == [c for c in cases if c["category"] == "language"]


def test_english_needs_no_model() -> None:
    """The library is read only in doubt."""
    code = (
        "import sys; from orchestrator.language.detect import foreign_in; "
        "foreign_in('Book a table for two at Da Enzo and tell Bo that I am late'); "
        "sys.exit('py3langid' in sys.modules)"
    )

    assert run([sys.executable, "-c", code], check=False).returncode == 0
