"""Limits on the attempts and the time of a compensation, from which all rollback limits follow."""

from datetime import timedelta
from typing import Final

CALL_TIMEOUT: Final = timedelta(seconds=30)
"""The timeout of one call to the provider, unless the contract sets another."""
ATTEMPTS: Final = 10
"""Attempts that the provider may have executed, unless the contract sets another number."""
CALLS_PER_ATTEMPT: Final = 12
"""At most a leg's own cancel, the call again, a cancel, and the cancel with the findings of its
probe, with a probe before and after each and up to three calls for a cancel; each within the
contract's timeout."""
FIRST_PAUSE: Final = timedelta(seconds=1)
SPREAD: Final = timedelta(minutes=5)
"""Minimum time from the first attempt to the last, however few attempts the contract allows."""
LONGEST_PAUSE: Final = timedelta(minutes=5)
LONGEST_DEFERRAL_PAUSE: Final = timedelta(minutes=1)
"""Longest pause between deferred attempts, unless the provider asks to wait longer."""
LONGEST_DEFERRAL: Final = timedelta(minutes=15)
"""Total time for which a provider may defer one compensation, as others wait behind it."""
SETTLES_AFTER: Final = timedelta(seconds=30)
"""Time after which a call that its provider is not seen to hold counts as void, unless the contract
sets another."""
LONGEST_WAIT_FOR_STATE: Final = timedelta(minutes=5)
"""Total time for which a rollback searches for a worker with the state that it needs, before it
parks. The search goes on afterwards, and the rollback resumes by itself what it parked for that
reason."""
LONGEST_WAIT_FOR_STATE_PAUSE: Final = timedelta(seconds=15)
"""Longest pause between two such searches."""
