"""How this process writes its messages: the one place where settings become a data converter."""

import re
from importlib import import_module
from pathlib import Path
from typing import Final

from temporalio.converter import DataConverter, ExternalStorage, StorageDriver

from orchestrator.adapters.storage.payload_folder import PayloadFolder
from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_codec import mark_of
from orchestrator.adapters.temporal.payload_keys import PayloadKeys
from orchestrator.core.errors import UsageError
from orchestrator.core.payload_errors import KEYS_VARIABLE, PayloadKeysInvalid
from orchestrator.settings import Settings

STORE_VARIABLE: Final = "ORCHESTRATOR_PAYLOAD_STORE"
_FACTORY: Final = re.compile(r"(?P<module>[\w.]+):(?P<factory>\w+)")


def converter_of(settings: Settings) -> DataConverter:
    """The data converter of a client or a worker with these settings.

    Raises:
        PayloadKeysInvalid: the keys are not written as they should be.
    """
    return mission_converter(payload_keys_of(settings), external_storage_of(settings))


def external_storage_of(settings: Settings) -> ExternalStorage | None:
    """Where large payloads are kept; None where they are recorded like all others.

    Raises:
        UsageError: the setting leads to no driver.
    """
    if not settings.payload_store:
        return None
    return ExternalStorage(
        drivers=[_driver(settings.payload_store)],
        payload_size_threshold=settings.payload_store_over,
    )


def payload_folder_of(settings: Settings) -> PayloadFolder | None:
    """The folder of large payloads, where they are kept in one."""
    storage = external_storage_of(settings)
    driver = storage.drivers[0] if storage is not None else None
    return driver if isinstance(driver, PayloadFolder) else None


def _driver(setting: str) -> StorageDriver:
    place = _FACTORY.fullmatch(setting)
    if place is None:
        return PayloadFolder(Path(setting).expanduser().absolute(), marked=mark_of)
    try:
        made = getattr(import_module(place["module"]), place["factory"])()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{STORE_VARIABLE}: {setting} is not there: {error}") from error
    if not isinstance(made, StorageDriver):
        raise UsageError(f"{STORE_VARIABLE}: {setting} makes no temporalio.converter.StorageDriver")
    return made


def payload_keys_of(settings: Settings) -> PayloadKeys:
    """The keys that payloads are encrypted with; none unless they are set.

    Raises:
        PayloadKeysInvalid: they are not written as they should be, or set twice.
    """
    text, path = settings.payload_keys, settings.payload_keys_file
    if text is not None and path is not None:
        raise PayloadKeysInvalid(KEYS_VARIABLE, f"{KEYS_VARIABLE}_FILE is set too")
    if path is not None:
        return PayloadKeys.of_file(path)
    return PayloadKeys.of_text(text.get_secret_value()) if text is not None else PayloadKeys()
