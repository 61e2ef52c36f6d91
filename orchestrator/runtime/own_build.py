"""Which build of this program a worker is: by the text of its own modules."""

import hashlib
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("orchestrator", "workflows", "activities")


@cache
def own_build_id() -> str:
    """A digest of our packages: workers with the same code name the same build.

    Temporal's SDK would read and digest the code of every module that is imported, libraries and
    all, which takes a tenth of a second at each start.
    """
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for module in sorted((_ROOT / package).rglob("*.py")):
            digest.update(str(module.relative_to(_ROOT)).encode() + b"\0")
            digest.update(module.read_bytes() + b"\0")
    return digest.hexdigest()[:32]
