"""Importing this imports whatever any command does: forked commands have it from the first."""

from importlib import import_module

import orchestrator.client.mission_client
import orchestrator.runtime.process_telemetry
import orchestrator.runtime.worker
import orchestrator.sandbox.sandbox_server  # noqa: F401  commands import these when they are run
from orchestrator.cli.main import COMMANDS

for _name in COMMANDS:
    import_module(f"orchestrator.cli.{_name.replace('-', '_')}_commands")
