"""The `orchestrator` command: arguments in, one call into the library, text or JSON out."""

from orchestrator.cli.main import app, main

__all__ = ["app", "main"]
