"""Settings from the environment: how often the sweep runs."""

from datetime import timedelta

import pytest

from orchestrator.errors import UsageError
from orchestrator.settings import load_settings


@pytest.mark.parametrize(
    ("written", "interval"),
    [("PT1M", timedelta(minutes=1)), ("90", timedelta(seconds=90)), ("0", timedelta(0))],
)
def test_an_interval_is_seconds_or_iso_8601(
    monkeypatch: pytest.MonkeyPatch, written: str, interval: timedelta
) -> None:
    """As in tool contracts; zero means never."""
    monkeypatch.setenv("ORCHESTRATOR_SWEEP_INTERVAL", written)

    assert load_settings().sweep_interval == interval


@pytest.mark.parametrize("written", ["soon", "-5", "nan", "inf"])
def test_what_is_no_interval_is_refused(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    """In one line that names the variable."""
    monkeypatch.setenv("ORCHESTRATOR_SWEEP_INTERVAL", written)

    with pytest.raises(UsageError, match="ORCHESTRATOR_SWEEP_INTERVAL"):
        load_settings()
