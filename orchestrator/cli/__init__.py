"""The `orchestrator` command: arguments in, one call into the library, text or JSON out.

A command imports the libraries of its work when it runs, so that help answers at once.
"""

from orchestrator.cli.main import app, main, run

__all__ = ["app", "main", "run"]
