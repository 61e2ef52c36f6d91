"""Missions and legs whose own workflow tasks do what needs no other machine.

History then has the results of that, a marker each, in the place of three events and a task.
"""

from typing import Final

SWIFT: Final = "swift"
"""Runs that began without it go on without: none of their commands changes."""
