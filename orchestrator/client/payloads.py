"""The data converter of this process, made from its settings."""

import re
from importlib import import_module
from pathlib import Path
from typing import Final

from temporalio.converter import DataConverter, ExternalStorage, StorageDriver

from orchestrator.adapters.storage.payload_driver import PayloadDriver, PayloadFolder
from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_codec import mark_of
from orchestrator.adapters.temporal.payload_keys import PayloadKeys
from orchestrator.client.stores import store_of
from orchestrator.core.errors import KEYS_VARIABLE, PayloadKeysInvalid, UsageError
from orchestrator.settings import Settings

STORE_VARIABLE: Final = "ORCHESTRATOR_PAYLOAD_STORE"
IN_STORE: Final = "store"
"""The setting's value for storing large payloads in the store."""
_FACTORY: Final = re.compile(r"(?P<module>[\w.]+):(?P<factory>\w+)")


def converter_of(settings: Settings) -> DataConverter:
    """Return the data converter of a client or a worker with these settings.

    Raises:
        PayloadKeysInvalid: the keys are malformed.
    """
    return mission_converter(payload_keys_of(settings), external_storage_of(settings))


def external_storage_of(settings: Settings) -> ExternalStorage | None:
    """Return the storage of large payloads; None if they are recorded like all others.

    Raises:
        UsageError: the setting names no driver, or two drivers have the same name.
        StoreRefused: the setting names the store, and the settings have none.
    """
    if not settings.payload_store:
        return None
    drivers = [_driver(one.strip(), settings) for one in settings.payload_store.split(",")]
    if len({driver.name() for driver in drivers}) < len(drivers):
        raise UsageError(
            f"{STORE_VARIABLE}: references in histories tell its places apart by their kind, and "
            "two are of one kind; put what one folder holds into the other, and name that"
        )
    keeps = drivers[0]
    return ExternalStorage(
        drivers=drivers,
        driver_selector=lambda _context, _payload: keeps,
        payload_size_threshold=settings.payload_store_over,
    )


def payload_drivers_of(settings: Settings) -> tuple[PayloadDriver, ...]:
    """Return our own drivers of large payloads, which we prune."""
    storage = external_storage_of(settings)
    drivers = () if storage is None else storage.drivers
    return tuple(driver for driver in drivers if isinstance(driver, PayloadDriver))


def _driver(setting: str, settings: Settings) -> StorageDriver:
    if setting == IN_STORE:
        return store_of(settings).payloads(marked=mark_of)
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
    """Return the keys that payloads are encrypted with; none unless they are configured.

    Raises:
        PayloadKeysInvalid: the keys are malformed, or set twice.
    """
    text, path = settings.payload_keys, settings.payload_keys_file
    if text is not None and path is not None:
        raise PayloadKeysInvalid(KEYS_VARIABLE, f"{KEYS_VARIABLE}_FILE is set too")
    if path is not None:
        return PayloadKeys.of_file(path)
    return PayloadKeys.of_text(text.get_secret_value()) if text is not None else PayloadKeys()
