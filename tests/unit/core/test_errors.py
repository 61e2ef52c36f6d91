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
    errors.NothingFits("teleport me"),
    errors.RequestUnread("KeyError in the router"),
    errors.ArgumentsInvalid("book", ["seat is missing", "nights is no number"]),
    errors.EgressRefused("book", "evil.example"),
    errors.DeadlinePassed("book"),
    errors.TransportFailed("book", "timed out", may_have_arrived=True),
    errors.CardUnknown("m.1-leg.2", "no such confirmation is open"),
    errors.GrantMissing("m.1-leg.2", "no grant"),
    errors.SecretMissing("token", "ORCHESTRATOR_SECRET_TOKEN"),
    errors.PiiMissing(["name", "passport"]),
    errors.ServerUnreachable("localhost:7233"),
    errors.ServerRefused("localhost:7233"),
    errors.NoWorker("orchestrator"),
    errors.EmbedderUnavailable("it answered 503"),
    errors.MissionNotFound("trip"),
    errors.MissionIdTaken("trip"),
    errors.ObligationNotParked("m.1-leg.2"),
    errors.LegsRunning("1-leg"),
    errors.QueryFailed("trip", "[TMPRL1100] Nondeterminism error"),
)


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_an_error_says_it_in_one_line(error: OrchestratorError) -> None:
    """A command line shows it as it is: one line, with no empty part."""
    text = str(error)

    assert text
    assert "\n" not in text
    assert "None" not in text
    assert not text.endswith((";", ":", ": "))


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_an_errors_text_holds_what_it_is_about(error: OrchestratorError) -> None:
    """Whatever text an error keeps as a field is in its own text, so none of it goes unsaid."""
    for name, value in vars(error).items():
        parts = value if isinstance(value, tuple) else (value,)
        for part in (p for p in parts if isinstance(p, str)):
            assert part[:12] in str(error), name


@pytest.mark.parametrize(
    "error",
    [
        errors.CardDecided("m.1-leg.2", "it was approved: twice"),
        errors.AnswerInvalid("m.1-leg.2", "nights is no number"),
        errors.MissionIdTaken("trip's"),
        errors.ObligationNotParked("m.1-leg.2"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_refusal_is_made_again_from_its_details(error: OrchestratorError) -> None:
    """Its name and its details are enough: no id is read out of a sentence."""
    made = errors.error_named(type(error).__name__, error.details)

    assert type(made) is type(error)
    assert (str(made), vars(made)) == (str(error), vars(error))


@pytest.mark.parametrize(
    ("name", "details"),
    [("CardDecided", {}), ("CardDecided", {"card": "m"}), ("Sequence", {"a": 1}), ("", {"a": 1})],
)
def test_an_error_of_another_release_is_not_made_up(name: str, details: dict[str, object]) -> None:
    """None: whoever reads it shows its sentence instead."""
    assert errors.error_named(name, details) is None


def test_only_what_may_pass_is_tried_again() -> None:
    """A missing catalog may come with another worker; a missing mission never comes."""
    assert errors.CatalogNotFound("0123").retryable
    assert errors.NoWorker("queue").retryable
    assert not errors.MissionNotFound("trip").retryable
    assert not errors.GrantUsed("m.1-leg.2", "used").retryable


def test_an_unknown_tool_names_those_that_are_near() -> None:
    """Without any, it says where the list is."""
    assert "did you mean book, brook?" in str(errors.ToolNotFound("boook", ["book", "brook"]))
    assert "orchestrator tools list" in str(errors.ToolNotFound("teleport"))


def test_a_missing_secret_never_shows_a_value() -> None:
    """It takes the name and the place, and nothing else."""
    parameters = inspect.signature(errors.SecretMissing).parameters

    assert list(parameters) == ["name", "looked_at"]
    assert list(inspect.signature(errors.PiiMissing).parameters) == ["fields"]
