"""The files of earlier releases: taken over once, whoever dies at it, and removed."""

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cryptography.fernet import Fernet

from orchestrator.adapters.storage.personal_values import VaultContents
from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog, pack
from orchestrator.core.errors import UsageError
from orchestrator.core.pii import Handle
from orchestrator.routing.learning.trace import FrameTrace, RouteRecord

KEY = Fernet.generate_key()
NOW = "2026-11-20T09:00:00Z"
GRANT, CALL = "ab" * 32, "m.1-hotels.2"
OpenStore = Callable[[], Store]


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def left_by_an_earlier_release(folder: Path, catalog: Catalog) -> None:
    """All that release 0.1 kept in a state directory."""
    _write(folder / "catalogs" / f"{catalog.digest}.json", json.dumps(pack(catalog)).encode())
    _write(folder / "grants" / GRANT[:2] / GRANT, b"leg 1")
    back = _digest(CALL)
    _write(folder / "grants" / "taken-back" / back[:2] / back, b"")
    _write(folder / "pii" / "pii.key", KEY)
    _write(folder / "pii" / "pii.lock", b"")
    values = {"field": "name", "stored_at": NOW}
    held = VaultContents.model_validate(
        {
            "values": [
                {**values, "version": "a" * 32, "value": "Ada", "superseded_at": NOW},
                {**values, "version": "b" * 32, "value": "Grace"},
                {**values, "version": "c" * 32, "value": "Mary", "scope": "m", "claims": ["1"]},
            ]
        }
    )
    _write(folder / "pii" / "pii.vault", Fernet(KEY).encrypt(held.model_dump_json().encode()))
    seen = folder / "observations" / _digest("m")[:40]
    _write(seen / "mission.json", json.dumps({"mission_id": "m"}).encode())
    _write(seen / _digest("k"), b"seen")
    _write_databases(folder)


def _write_databases(folder: Path) -> None:
    record = RouteRecord(frame=FrameTrace(), band="crisp", reason="", k=1, tools=("t",),
                         catalog_size=1, scores={}, mission_id="m", leg_id="l", step=1)  # fmt: skip
    columns = "number INTEGER PRIMARY KEY AUTOINCREMENT, mission_id, leg_id, step, record, called"
    for name in ("route-traces.db", "proxy-traces.db"):
        with sqlite3.connect(folder / name) as traces:
            traces.execute(f"CREATE TABLE selections ({columns})")
            values = ("m", "l", 1, record.model_dump_json(), "t")
            traces.execute("INSERT INTO selections VALUES (NULL, ?, ?, ?, ?, ?)", values)
        traces.close()
    with sqlite3.connect(folder / "card-vectors.db") as vectors:
        vectors.execute("CREATE TABLE vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)")
        vector = np.array([1.0, 2.0], dtype=np.float32).tobytes()
        vectors.execute("INSERT INTO vectors VALUES ('k', ?)", (vector,))
    vectors.close()


def check_taken_over(store: Store, catalog: Catalog) -> None:
    """That all of it is in the store."""
    assert store.catalogs.get(catalog.digest).digest == catalog.digest
    assert store.grants.claim(GRANT, "leg 2") == "leg 1"
    assert store.grants.is_taken_back(CALL)
    found = {v: store.vault.find(Handle("name", v * 32)) for v in "abc"}
    assert {v: kept.value if kept else None for v, kept in found.items()} == {
        "a": "Ada", "b": "Grace", "c": "Mary",
    }  # fmt: skip
    assert store.vault.get("name") == "Grace"
    assert store.observations.get("m", "k") == b"seen"
    assert [r.called for r in store.traces.records()] == [(("t",),)]
    assert len(store.proxy_traces.records()) == 1
    assert store.vectors.get(["k"])["k"].tolist() == [1.0, 2.0]


def test_all_that_an_earlier_release_kept_is_there(
    open_store: OpenStore, shipped: Catalog, tmp_path: Path
) -> None:
    """By the first use, on a file and on a server; of the old files only the key is left."""
    folder = tmp_path / ("state" if open_store().place.startswith("/") else "machine-1")
    left_by_an_earlier_release(folder, shipped)

    check_taken_over(open_store(), shipped)

    left = {path.name for path in folder.rglob("*") if path.is_file()}
    assert left - {"store.db", "store.db-wal", "store.db-shm"} == {"pii.key", ".taking-over"}
    check_taken_over(open_store(), shipped)


def test_catalogs_of_earlier_missions_stay(shipped: Catalog, tmp_path: Path) -> None:
    """Nobody has noted which missions began on them."""
    left_by_an_earlier_release(tmp_path, shipped)
    catalogs = Store(tmp_path).catalogs
    oldest = catalogs.oldest_mission_on(shipped.digest)

    assert oldest is not None
    assert oldest[0] == ""


_DIE = """
import os, signal, sys
from pathlib import Path
from orchestrator.adapters.storage import taking_over
from orchestrator.adapters.storage.store import Store
left = [int(sys.argv[2])]
def dies(do):
    def done(*given, **named):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return do(*given, **named)
    return done
taking_over._insert = dies(taking_over._insert)
taking_over._is_new = dies(taking_over._is_new)
taking_over.shutil.rmtree = dies(taking_over.shutil.rmtree)
taking_over.Path.unlink = dies(taking_over.Path.unlink)
Store(Path(sys.argv[1])).open()
"""


@pytest.mark.parametrize(
    "steps", [6, *(pytest.param(n, marks=pytest.mark.long) for n in (0, 3, 5, 7, 9, 12))]
)
def test_who_dies_at_it_loses_nothing(shipped: Catalog, tmp_path: Path, steps: int) -> None:
    """Between any two steps: the next one that opens the store goes on."""
    left_by_an_earlier_release(tmp_path, shipped)

    died = subprocess.run([sys.executable, "-c", _DIE, str(tmp_path), str(steps)], check=False)

    assert died.returncode == -signal.SIGKILL
    check_taken_over(Store(tmp_path), shipped)


def test_what_was_forgotten_meanwhile_does_not_come_back(shipped: Catalog, tmp_path: Path) -> None:
    """Its file was taken over, and its machine died before it could remove it."""
    left_by_an_earlier_release(tmp_path, shipped)
    vault = (tmp_path / "pii" / "pii.vault").read_bytes()
    with Store(tmp_path) as store:
        assert store.vault.forget("name")
        store.observations.purge("m")
    (tmp_path / "pii" / "pii.vault").write_bytes(vault)
    seen = tmp_path / "observations" / _digest("m")[:40]
    _write(seen / "mission.json", json.dumps({"mission_id": "m"}).encode())
    _write(seen / _digest("k"), b"seen")

    with Store(tmp_path) as again:
        assert again.vault.fields() == ()
        assert again.observations.missions() == {}
    assert not (tmp_path / "pii" / "pii.vault").exists()


def test_two_machines_bring_what_each_has(
    postgres_url: str, shipped: Catalog, tmp_path: Path
) -> None:
    """Of two current values the later one stays current, under the key that both have now."""
    from orchestrator.adapters.storage.vault_key import VaultKey, new_key

    key = VaultKey("ORCHESTRATOR_PII_KEY", new_key())
    for name, value, at in (("a", "Older", "2026-01-01T00:00:00Z"), ("b", "Newer", NOW)):
        own = Fernet.generate_key()
        kept = {"field": "name", "version": name * 32, "value": value, "stored_at": at}
        held = VaultContents.model_validate({"values": [kept]})
        _write(tmp_path / name / "pii" / "pii.key", own)
        token = Fernet(own).encrypt(held.model_dump_json().encode())
        _write(tmp_path / name / "pii" / "pii.vault", token)

    for name in ("b", "a"):
        with Store(tmp_path / name, url=postgres_url, key=key) as store:
            assert store.vault.get("name") == "Newer"
            older = store.vault.find(Handle("name", "a" * 32))

    assert older is not None
    assert older.value == "Older"
    assert older.superseded_at is not None


def test_a_vault_without_its_key_stops_everything(shipped: Catalog, tmp_path: Path) -> None:
    """To go on would lose what it holds: the error says what can be done."""
    left_by_an_earlier_release(tmp_path, shipped)
    os.unlink(tmp_path / "pii" / "pii.key")

    with pytest.raises(UsageError, match=r"pii\.vault.*restore the key"):
        Store(tmp_path).vault.fields()
    assert (tmp_path / "pii" / "pii.vault").exists()


def test_the_vault_of_the_first_release_is_taken_over_too(tmp_path: Path) -> None:
    """It held one value of each field, even one called `layout`."""
    flat = {"name": "Ada", "layout": "2"}
    _write(tmp_path / "pii" / "pii.key", KEY)
    _write(tmp_path / "pii" / "pii.vault", Fernet(KEY).encrypt(json.dumps(flat).encode()))

    vault = Store(tmp_path).vault

    assert vault.fields() == ("layout", "name")
    before = vault.current("name")
    vault.put("name", "Ada")
    assert vault.current("name") == before
