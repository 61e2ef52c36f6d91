"""The token of the codec server: where it is read, and that of an installation on one machine."""

import os
import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path

from orchestrator.adapters.storage.files import create_file
from orchestrator.core.errors import UsageError

TOKEN_VARIABLE = "ORCHESTRATOR_CODEC_TOKEN"
_FILE_VARIABLE = f"{TOKEN_VARIABLE}_FILE"
_NAME = "codec.token"


def read_codec_token() -> str:
    """What callers present, by the variables of this process; '' when there is none.

    Raises:
        UsageError: the file that it should be in cannot be read.
    """
    path = os.environ.get(_FILE_VARIABLE)
    if path is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip()
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{_FILE_VARIABLE}: {path} cannot be read") from None


@dataclass(frozen=True)
class CodecToken:
    """What whoever started the installation has set, else one that is made once and kept."""

    folder: Path
    """Of the installation's state."""

    @property
    def _file(self) -> Path:
        return (self.folder / _NAME).absolute()

    @property
    def _is_ours(self) -> bool:
        return not {TOKEN_VARIABLE, _FILE_VARIABLE} & os.environ.keys()

    @property
    def told(self) -> str:
        """Where it stands, after a comma."""
        if self._is_ours:
            return f"which stands in {self._file}"
        return f"which {TOKEN_VARIABLE} or its file holds"

    def variables(self) -> dict[str, str]:
        """What a codec server takes it from, beside the variables of this process."""
        if not self._is_ours:
            return {}
        create_file(self._file, secrets.token_hex(32).encode())
        return {_FILE_VARIABLE: str(self._file)}

    def exports(self, url: str) -> list[str]:
        """Lines of a shell, by which the `temporal` command shows what is encrypted."""
        where = f"export TEMPORAL_CODEC_ENDPOINT={shlex.quote(f'{url}/{{namespace}}')}"
        if not self._is_ours:
            return [where]
        return [where, f'export TEMPORAL_CODEC_AUTH="Bearer $(cat {shlex.quote(str(self._file))})"']
