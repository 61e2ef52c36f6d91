"""The store of secrets that docs/security.md shows is one."""

import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.secrets import SecretStore
from orchestrator.core.errors import SecretMissing

_TEXT = (Path(__file__).parents[2] / "docs/security.md").read_text(encoding="utf-8")


def _shown(folder: Path) -> SecretStore:
    (block,) = re.findall(r"^```python\n(.*?)^```", _TEXT, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    store: SecretStore = names["FolderSecrets"](folder)
    return store


def test_the_shown_store_gives_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "payments__token").write_text("t0ken\n")

    assert _shown(tmp_path).get("payments__token") == "t0ken"


def test_the_shown_store_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(SecretMissing, match="payments__token"):
        _shown(tmp_path).get("payments__token")
