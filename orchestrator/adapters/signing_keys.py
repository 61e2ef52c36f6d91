"""Files with the private keys that people sign their decisions with."""

from pathlib import Path

from orchestrator.adapters.storage.files import create_file
from orchestrator.confirmation.signatures import SigningKey
from orchestrator.core.errors import DocumentUnreadable, UsageError


def load_signing_key(path: Path) -> SigningKey:
    """The private key of a PEM or JWK file.

    Raises:
        DocumentUnreadable: the file is missing, or holds no key that can sign a decision.
    """
    try:
        return SigningKey.read(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, UsageError) as error:
        raise DocumentUnreadable(str(path), str(error).splitlines()[0]) from error


def write_signing_key(path: Path, text: str) -> None:
    """Write a private key where no file is, for its owner's eyes only.

    Raises:
        UsageError: there is a file already, or it cannot be written.
    """
    try:
        is_new = create_file(path, text.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    if not is_new:
        raise UsageError(f"{path} exists; a key that is replaced can sign nothing any more")
