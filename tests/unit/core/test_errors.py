"""The error tree: errors have fields, and texts that say what to do."""

import inspect

import pytest

from orchestrator.core import errors
from orchestrator.core.errors import OrchestratorError

MADE: tuple[OrchestratorError, ...] = (
    errors.DocumentUnreadable("crm.yaml", "no such file"),
    errors.DocumentInvalid("crm", "/paths/~1a", "no operationId"),
    errors.ArgumentsInvalid("book", ["seat is missing", "nights is no number"]),
    errors.EgressRefused("book", "evil.example"),
    errors.TransportFailed("book", "timed out", may_have_arrived=True),
    errors.CardUnknown("m.1-leg.2", "no such confirmation is open"),
    errors.GrantMissing("m.1-leg.2", "no grant"),
    errors.SecretMissing("token", "ORCHESTRATOR_SECRET_TOKEN"),
    errors.PiiMissing(["name", "passport"]),
    errors.ServerUnreachable("localhost:7233"),
    errors.EmbedderUnavailable("it answered 503"),
    errors.MissionNotFound("trip"),
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
    fields = {n: v for n, v in error.details.items() if n not in ("code", "kind")}
    for name, value in fields.items():
        parts = value if isinstance(value, tuple) else (value,)
        for part in (p for p in parts if isinstance(p, str)):
            assert part[:12] in text, name


def test_an_error_without_a_class_has_a_code() -> None:
    """It crosses the Temporal boundary as a class's name does; only what may pass is retried."""
    coded = OrchestratorError("m still runs", code="MissionStillRuns")
    kind = {"code": "MissionStillRuns", "kind": "OrchestratorError"}
    assert (coded.code, coded.details, str(coded)) == ("MissionStillRuns", kind, "m still runs")
    assert errors.UsageError("x").code == "UsageError"
    assert errors.MissionNotFound("trip").code == "MissionNotFound"
    assert errors.CatalogNotFound("none", digest="0123").retryable
    assert errors.NoWorker("queue").retryable
    assert not errors.MissionNotFound("trip").retryable
    assert not errors.GrantMissing("m.1-leg.2", "none").retryable


@pytest.mark.parametrize(
    "error",
    [
        errors.ConfirmationError("m.1-leg.2", "it was approved: twice", code="CardDecided"),
        errors.CardUnknown("m.1-leg.2", "it is closed"),
        errors.QuestionError("m.1-leg.2", "nights is no number", code="AnswerInvalid"),
        errors.MissionNotFound("trip's"),
        errors.NoWorker("nobody polls", awaited="a worker", command="orchestrator worker"),
    ],
    ids=lambda error: error.code,
)
def test_a_refusal_is_made_again_from_its_details(error: OrchestratorError) -> None:
    """Its sentence and its details are enough: no id is read out of a sentence."""
    made = errors.error_named(str(error), error.details)

    assert type(made) is type(error)
    assert (str(made), vars(made)) == (str(error), vars(error))


@pytest.mark.parametrize(
    "details", [{}, {"card": "m"}, {"kind": "Sequence", "a": 1}, {"kind": 1}, {"kind": "CardGone"}]
)
def test_an_error_of_another_release_is_not_made_up(details: dict[str, object]) -> None:
    """None: whoever reads it shows its sentence instead."""
    assert errors.error_named("it is closed", details) is None


def test_a_missing_secret_never_shows_a_value() -> None:
    """It takes the name and the place, and nothing else."""
    parameters = inspect.signature(errors.SecretMissing).parameters

    assert list(parameters) == ["name", "looked_at"]
    assert list(inspect.signature(errors.PiiMissing).parameters) == ["fields", "sentence", "code"]
