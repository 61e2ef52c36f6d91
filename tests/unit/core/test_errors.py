"""The error tree: errors have fields, and texts that say what to do."""

import inspect

import pytest

from orchestrator.core import errors
from orchestrator.core.errors import OrchestratorError

MADE: tuple[OrchestratorError, ...] = (
    errors.DocumentUnreadable("crm.yaml", "no such file"),
    errors.DocumentInvalid("crm", "/paths/~1a", "no operationId"),
    errors.CatalogNotFound("0123456789abcdef"),
    errors.ToolNotFound("boook", ["book", "brook"]),
    errors.ArgumentsInvalid("book", ["seat is missing", "nights is no number"]),
    errors.EgressRefused("book", "evil.example"),
    errors.TransportFailed("book", "timed out", may_have_arrived=True),
    errors.CardUnknown("m.1-leg.2", "no such confirmation is open"),
    errors.GrantMissing("m.1-leg.2", "no grant"),
    errors.SecretMissing("token", "ORCHESTRATOR_SECRET_TOKEN"),
    errors.PiiMissing(["name", "passport"]),
    errors.ServerUnreachable("localhost:7233"),
    errors.NoWorker("orchestrator"),
    errors.EmbedderUnavailable("it answered 503"),
    errors.MissionNotFound("trip"),
    errors.MissionIdTaken("trip"),
    errors.QuestionError("m.1-leg.2", "it is not parked", code="ObligationNotParked"),
)


@pytest.mark.parametrize("error", MADE, ids=lambda error: error.code)
def test_an_errors_text_is_one_line_with_all_its_fields(error: OrchestratorError) -> None:
    """A command line shows it as it is: no empty part, and no field is left out."""
    text = str(error)

    assert text
    assert "\n" not in text
    assert "None" not in text
    assert not text.endswith((";", ":", ": "))
    for name, value in (pair for pair in error.details.items() if pair[0] != "code"):
        parts = value if isinstance(value, tuple) else (value,)
        for part in (p for p in parts if isinstance(p, str)):
            assert part[:12] in text, name


def test_an_error_without_a_class_has_a_code() -> None:
    """The code crosses the Temporal boundary as a class's name does; details are the fields."""
    coded = OrchestratorError("m still runs", code="MissionStillRuns")

    assert (coded.code, coded.details, str(coded)) == ("MissionStillRuns", {}, "m still runs")
    assert errors.UsageError("x").code == "UsageError"
    assert errors.MissionNotFound("trip").code == "MissionNotFound"


@pytest.mark.parametrize(
    "error",
    [
        errors.ConfirmationError("m.1-leg.2", "it was approved: twice", code="CardDecided"),
        errors.CardUnknown("m.1-leg.2", "it is closed"),
        errors.QuestionError("m.1-leg.2", "nights is no number", code="AnswerInvalid"),
        errors.MissionIdTaken("trip's"),
    ],
    ids=lambda error: error.code,
)
def test_a_refusal_is_made_again_from_its_details(error: OrchestratorError) -> None:
    """Its name and its details are enough: no id is read out of a sentence."""
    made = errors.error_named(error.code, error.details)

    assert type(made) is type(error)
    assert (str(made), vars(made)) == (str(error), vars(error))


@pytest.mark.parametrize(
    ("name", "details"),
    [("CardUnknown", {}), ("CardDecided", {"card": "m"}), ("Sequence", {"a": 1}), ("", {"a": 1})],
)
def test_an_error_of_another_release_is_not_made_up(name: str, details: dict[str, object]) -> None:
    """None: whoever reads it shows its sentence instead."""
    assert errors.error_named(name, details) is None


def test_only_what_may_pass_is_tried_again() -> None:
    """A missing catalog may come with another worker; a missing mission never comes."""
    assert errors.CatalogNotFound("0123").retryable
    assert errors.NoWorker("queue").retryable
    assert not errors.MissionNotFound("trip").retryable
    assert not errors.GrantMissing("m.1-leg.2", "none").retryable


def test_an_unknown_tool_names_those_that_are_near() -> None:
    """Without any, it says where the list is."""
    assert "did you mean book, brook?" in str(errors.ToolNotFound("boook", ["book", "brook"]))
    assert "orchestrator tools list" in str(errors.ToolNotFound("teleport"))


def test_a_missing_secret_never_shows_a_value() -> None:
    """It takes the name and the place, and nothing else."""
    parameters = inspect.signature(errors.SecretMissing).parameters

    assert list(parameters) == ["name", "looked_at"]
    assert list(inspect.signature(errors.PiiMissing).parameters) == ["fields"]
