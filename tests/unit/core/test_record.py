"""Records: validators that a worker builds before it polls."""

import subprocess
import sys

_BUILT = """
from orchestrator.core.record import Record, build_records
from orchestrator.messages.mission import MissionInput
before = MissionInput.__pydantic_complete__
build_records()
kinds, left = [Record], []
while kinds:
    kind = kinds.pop()
    kinds += kind.__subclasses__()
    left += [] if kind.__pydantic_complete__ else [kind.__name__]
print(before, left)
"""


def test_every_record_that_is_imported_has_its_validator_before_polling() -> None:
    """In a process of its own: other tests build validators, and build them for all."""
    ran = subprocess.run([sys.executable, "-c", _BUILT], capture_output=True, text=True, check=True)

    assert ran.stdout.split(maxsplit=1) == ["False", "[]\n"]
