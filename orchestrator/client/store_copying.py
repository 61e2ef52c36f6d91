"""Copies one store to another."""

from contextlib import closing
from pathlib import Path
from typing import Final

from pydantic import Field
from sqlalchemy.engine import URL

from orchestrator.adapters.storage.store import FILE_NAME
from orchestrator.adapters.storage.store_copy import CopiedPart, copy_store
from orchestrator.adapters.storage.store_database import (
    StoreDatabase,
    file_url,
    is_url,
    migrate,
    url_of,
)
from orchestrator.client.stores import url_of_store, vault_key_of
from orchestrator.core.errors import UsageError
from orchestrator.core.record import Record
from orchestrator.settings import Settings

_SQLITE_HEAD: Final = b"SQLite format 3\0"


class CopiedStore(Record):
    """The parts that were copied, and the places without passwords."""

    source: str
    target: str
    parts: tuple[CopiedPart, ...]
    needs_vault_key: bool = Field(
        description="True if it has personal values whose vault key is not set here"
    )


def copy_between(source: str | None, target: str | None, settings: Settings) -> CopiedStore:
    """Copy one store to another, as `copy_store` does.

    Args:
        source: a URL, a file that holds one, a SQLite file, or its folder; None: the state
            directory.
        target: the same; None: the store that the settings name.
        settings: of this process, with the key of its vault.

    Raises:
        UsageError: one of them cannot be read, or the stores cannot be copied in their present
            state.
        StoreUnavailable, StoreRefused, StoreNewer: one store cannot be used.
    """
    target = target or url_of_store(settings)
    if target is None:
        raise UsageError(
            "where to copy it is not said: give --to, or set ORCHESTRATOR_STORE or "
            "ORCHESTRATOR_STORE_FILE to postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    read = _place(source or str(settings.state_dir), must_exist=True)
    key = vault_key_of(settings)
    with (
        closing(StoreDatabase(read, prepare=migrate)) as copied,
        closing(StoreDatabase(_place(target), prepare=migrate)) as into,
    ):
        parts = copy_store(copied, into, key=key)
        holds_values = any(one.copied + one.present for one in parts if one.is_sealed)
        return CopiedStore(
            source=copied.place,
            target=into.place,
            parts=parts,
            needs_vault_key=holds_values and key is None,
        )


def _place(text: str, *, must_exist: bool = False) -> URL:
    """Return the database that a person names.

    Raises:
        UsageError: there is no such database; the message quotes nothing from a file.
    """
    if is_url(text):
        url = url_of(text)
        file = Path(url.database or "") if url.get_backend_name() == "sqlite" else None
        if must_exist and file is not None and not file.is_file():
            raise UsageError(f"no store is in {file}: it is not there")
        return url
    path = Path(text).expanduser()
    try:
        if path.is_file() and not _is_sqlite(path):
            return url_of(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{path} cannot be read, or holds no URL") from None
    file = path if path.suffix == ".db" or path.is_file() else path / FILE_NAME
    if must_exist and not file.is_file():
        raise UsageError(f"no store is in {path}: {file} is not there")
    return file_url(file)


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE_HEAD)) in (b"", _SQLITE_HEAD)
