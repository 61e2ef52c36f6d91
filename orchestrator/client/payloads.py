"""How this process writes its messages: the one place where settings become a data converter."""

import re
from importlib import import_module
from pathlib import Path
from typing import Final

from temporalio.converter import DataConverter, ExternalStorage, StorageDriver

from orchestrator.adapters.storage.payload_driver import PayloadDriver
from orchestrator.adapters.storage.payload_folder import PayloadFolder
from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_codec import mark_of
from orchestrator.adapters.temporal.payload_keys import PayloadKeys
from orchestrator.client.stores import store_of
from orchestrator.core.errors import UsageError
from orchestrator.core.payload_errors import KEYS_VARIABLE, PayloadKeysInvalid
from orchestrator.settings import Settings

STORE_VARIABLE: Final = "ORCHESTRATOR_PAYLOAD_STORE"
IN_STORE: Final = "store"
"""What that variable says where large payloads are kept in the store."""
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
        UsageError: the setting leads to no driver, or to two of one name.
        StoreRefused: it means the store, and the settings name none.
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
    """The places of large payloads that are ours to prune; drivers of others see to theirs."""
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
