"""The data converter of this process, made from its settings."""

from temporalio.converter import DataConverter

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_keys import PayloadKeys, keys_invalid
from orchestrator.core.errors import KEYS_VARIABLE
from orchestrator.settings import Settings


def converter_of(settings: Settings) -> DataConverter:
    """Return the data converter of a client or a worker with these settings."""
    return mission_converter(payload_keys_of(settings))


def payload_keys_of(settings: Settings) -> PayloadKeys:
    """Return the keys that payloads are encrypted with; none unless they are configured.

    Raises:
        UsageError: as PayloadKeysInvalid: the keys are malformed, or set twice.
    """
    text, path = settings.payload_keys, settings.payload_keys_file
    if text is not None and path is not None:
        raise keys_invalid(KEYS_VARIABLE, f"{KEYS_VARIABLE}_FILE is set too")
    if path is not None:
        return PayloadKeys.of_file(path)
    return PayloadKeys.of_text(text.get_secret_value()) if text is not None else PayloadKeys()
