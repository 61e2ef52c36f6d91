"""Settings from the environment and its files."""

from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.core.errors import DocumentUnreadable, UsageError
from orchestrator.runtime.settings_table import setting_rows
from orchestrator.settings import load_routing_profile, load_settings


@pytest.mark.parametrize(
    ("written", "interval"),
    [("PT1M", timedelta(minutes=1)), ("90", timedelta(seconds=90)), ("0", timedelta(0))],
)
def test_an_interval_is_seconds_or_iso_8601(
    monkeypatch: pytest.MonkeyPatch, written: str, interval: timedelta
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_SWEEP_INTERVAL", written)

    assert load_settings().sweep_interval == interval


@pytest.mark.parametrize("written", ["soon", "-5", "nan", "inf"])
def test_what_is_no_interval_is_refused(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("ORCHESTRATOR_SWEEP_INTERVAL", written)

    with pytest.raises(UsageError, match="ORCHESTRATOR_SWEEP_INTERVAL"):
        load_settings()


def test_an_account_without_a_home_says_where_its_state_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A container may run as a number that no user has; once it is said, nothing is missed."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.delenv("ORCHESTRATOR_STATE_DIR", raising=False)
    with pytest.raises(UsageError, match="set ORCHESTRATOR_STATE_DIR"):
        load_settings()
    monkeypatch.setenv("ORCHESTRATOR_STATE_DIR", str(tmp_path))
    shown = {row.variable: row for row in setting_rows(load_settings())}
    assert shown["ORCHESTRATOR_STATE_DIR"].now == str(tmp_path)
    assert shown["ORCHESTRATOR_STATE_DIR"].default == "~/.orchestrator"


def test_a_mistyped_routing_profile_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text('{"weigths": {}}', encoding="utf-8")

    with pytest.raises(DocumentUnreadable, match="weigths is no part of a routing profile"):
        load_routing_profile(path)
