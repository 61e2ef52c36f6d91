"""Importing this loads whatever any command does: forked commands have it from the first."""

import rich.markdown  # noqa: F401  help texts are written in it
import tokenizers  # noqa: F401  routers import it when they are made

import orchestrator.adapters.http.operation_contract
import orchestrator.adapters.storage.store
import orchestrator.client.mission_client
import orchestrator.runtime.process_telemetry
import orchestrator.runtime.settings_table
import orchestrator.runtime.worker
import orchestrator.runtime.worker_logs
import orchestrator.sandbox.sandbox_server  # noqa: F401  commands import these when they are run
from orchestrator.cli.main import COMMANDS, load_command
from orchestrator.language.values import warm_up
from orchestrator.runtime.worker import own_build_id

for _name in COMMANDS:
    load_command(_name)

# What a worker loads and digests at its start, whatever its settings say.
warm_up()
own_build_id()
