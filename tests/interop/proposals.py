"""Proposals for third-party documents: none of them may be called an error by the linter."""

import argparse
import sys
from pathlib import Path

from orchestrator.catalog.catalog import load_documents
from orchestrator.catalog.lint.contract_rules import absolute_server
from orchestrator.catalog.suggest.suggest import Settled, settle, suggest
from orchestrator.core.errors import OrchestratorError
from tests.interop.listing import listed


def try_proposals(options: argparse.Namespace) -> int:
    """Print what is proposed for each document of a folder; 1 if lint finds an error in one."""
    rows = ["| document | operations | marked | asked about | pairs | left out | errors |"]
    rows.append("|---|---:|---:|---:|---:|---:|---:|")
    failed = False
    for entry in listed(options.folder):
        if options.only and entry.name not in options.only:
            continue
        try:
            proposal, findings = proposed(options.folder / entry.file)
        except OrchestratorError as error:
            rows.append(f"| {entry.name} | cannot be read: {error} | | | | | |")
            continue
        # A document without a server gets one from its owner: the proposal says so.
        errors = [f for f in findings if f.severity == "error" and f.code != absolute_server.code]
        failed = failed or bool(errors)
        counts = (proposal.operations, proposal.marked, proposal.questions, len(proposal.pairs))
        cells = (entry.name, *counts, len(proposal.left_out), len(errors))
        rows.append(f"| {' | '.join(map(str, cells))} |")
    sys.stdout.write("\n".join(rows) + "\n")
    return int(failed)


def proposed(file: Path) -> Settled:
    """Return the proposal for a document, and what the linter finds in the document with it."""
    [(name, document)] = load_documents(file).items()
    return settle(suggest(name, document, file=file.name), document)
