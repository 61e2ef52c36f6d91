"""What is sent to find out whether some worker has the key of what a workflow sends."""

from orchestrator.core.record import Record


class KeyProbe(Record):
    """Nothing but something to open."""
