"""docs/operations.md: its runbook quotes the product, and its commands and settings exist."""

import re
import shlex
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from temporalio.envconfig import ClientConfig

from orchestrator.core.command_lines import set_current
from orchestrator.messages import names
from orchestrator.runtime.devserver import temporal_binary
from orchestrator.runtime.settings_table import setting_rows
from orchestrator.settings import Settings

_ROOT: Final = Path(__file__).parents[2]
_TEXT: Final = (_ROOT / "docs/operations.md").read_text(encoding="utf-8").replace("\\\n", "")
_RUNBOOK: Final = _TEXT.partition("\n## Runbook\n")[2]
_ROWS: Final = re.findall(r"^\| `([^`]+)` \|", _RUNBOOK, flags=re.MULTILINE)
_BASH: Final = re.findall(r"^ *```bash\n(.*?)^ *```", _TEXT, flags=re.MULTILINE | re.DOTALL)


@cache
def _said() -> str:
    """Everything that the code can say, a text in a line, with `…` for each value put in."""
    found: list[str] = []
    for package in ("orchestrator", "workflows", "activities"):
        for file in (_ROOT / package).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            text = re.sub(r'"""(?:.|\n)*?"""', "", text)  # it explains the code
            text = re.sub(r"#.*", "", text)
            text = re.sub(r'"\s*\n\s*f?"', "", text)  # one text, over several lines
            found.append(re.sub(r"\{[^{}\n]*\}", "…", text))
    return "\n".join(found)


def _is_said(row: str) -> bool:
    """Whether one text of the code says it: its words, in their order, with values between."""
    return bool(re.search("[^\n]*".join(map(re.escape, row.strip("…").split("…"))), _said()))


@pytest.mark.parametrize("row", _ROWS)
def test_what_the_runbook_quotes_is_what_the_product_says(row: str) -> None:
    """A message that is reworded takes its row with it."""
    assert max(len(part) for part in row.split("…")) >= 10
    assert _is_said(row)


def test_the_runbook_has_rows_and_what_nobody_says_is_found() -> None:
    """The checks have something to check and can fail, also on words that explain the code."""
    assert not _is_said("the flux … is exhausted")
    assert not _is_said("Everything that the code can say")
    assert len(_ROWS) > 20
    assert len(set(_ROWS)) == len(_ROWS)


def test_every_variable_is_a_setting() -> None:
    named = set(re.findall(r"\bORCHESTRATOR_[A-Z_]+\b", _TEXT))

    assert named != set()
    assert named <= {row.variable for row in setting_rows(Settings())}
    assert set_current("orchestrator", "0-2-0") in _TEXT
    assert f"{names.MISSION_ID_ATTRIBUTE} = '" in _TEXT


def _temporal_commands() -> list[list[str]]:
    lines = (line.strip() for block in _BASH for line in block.splitlines())
    return [shlex.split(line)[1:] for line in lines if line.startswith("temporal ")]


@pytest.mark.parametrize("command", _temporal_commands(), ids=lambda c: " ".join(c[:3]))
def test_the_commands_of_temporal_are_ones_that_it_takes(command: list[str]) -> None:
    """Their options too; that they do what is said is shown by the test of a rolling upgrade."""
    options = [word for word in command if word.startswith("--")]
    verbs = command[: command.index(options[0])]
    told = subprocess.run(
        [temporal_binary(), *verbs, "--help"], capture_output=True, text=True, check=True
    )

    assert set(options) <= {*re.findall(r"--[a-z-]+", told.stdout)}


@pytest.mark.parametrize("profile", ["default", "own"])
def test_the_file_of_temporals_sdk_is_one_that_it_reads(profile: str, tmp_path: Path) -> None:
    """With the settings that it means: an API key, or the paths of certificates."""
    (written,) = re.findall(r"^```toml\n(.*?)^```", _TEXT, flags=re.MULTILINE | re.DOTALL)
    file = tmp_path / "temporal.toml"
    for path in re.findall(r'_path = "([^"]+)"', written):
        (tmp_path / Path(path).name).write_text("a certificate")
    file.write_text(written.replace("/run/secrets/orchestrator", str(tmp_path)))
    variables = {"TEMPORAL_CONFIG_FILE": str(file), "TEMPORAL_PROFILE": profile}
    config: Any = ClientConfig.load_client_connect_config(override_env_vars=variables)
    meant = tomllib.loads(written)["profile"][profile]
    assert config["target_host"] == meant["address"]
    assert config["namespace"] == meant["namespace"]
    assert config.get("api_key") == meant.get("api_key")
    if "tls" in meant:
        assert config["tls"].client_cert == b"a certificate"
        assert config["tls"].domain == meant["tls"]["server_name"]
