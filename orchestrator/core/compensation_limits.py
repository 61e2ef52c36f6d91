"""How often and how long a compensation is tried: all limits of a rollback follow from these."""

from datetime import timedelta
from typing import Final

CALL_TIMEOUT: Final = timedelta(seconds=30)
"""Of one call to the provider, where the contract says nothing else."""
ATTEMPTS: Final = 10
"""Attempts that the provider may have worked on, where the contract says nothing else."""
CALLS_PER_ATTEMPT: Final = 12
"""At most a leg's own cancel, the call again, a cancel, and the cancel with what its probe shows,
with a probe before and after each and up to three calls for a cancel; each within the contract's
time."""
FIRST_PAUSE: Final = timedelta(seconds=1)
SPREAD: Final = timedelta(minutes=5)
"""The last attempt comes no sooner than this after the first, however few the contract gives."""
LONGEST_PAUSE: Final = timedelta(minutes=5)
LONGEST_DEFERRAL_PAUSE: Final = timedelta(minutes=1)
"""Between deferred attempts, unless the provider itself asks to wait longer."""
LONGEST_DEFERRAL: Final = timedelta(minutes=15)
"""How long a provider may defer one compensation, in all: others wait behind it."""
SETTLES_AFTER: Final = timedelta(seconds=30)
"""How long a call that its provider is not seen to hold is looked for before it is void, where the
contract says nothing else."""
LONGEST_LACK: Final = timedelta(minutes=5)
"""How long a rollback looks for a worker that has what it needs, in all, before it parks; it
goes on looking, and takes up by itself what it parked for that."""
LONGEST_LACK_PAUSE: Final = timedelta(seconds=15)
"""Between two such looks."""
