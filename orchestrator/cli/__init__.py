"""The `orchestrator` command: arguments in, one call into the library, text or JSON out.

What a command needs only to do its work is imported where it does it: help and wrong usage answer
without the weight of the Temporal SDK, of HTTP and of workers.
"""

from orchestrator.cli.main import app, main

__all__ = ["app", "main"]
