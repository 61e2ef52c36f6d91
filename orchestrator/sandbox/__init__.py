"""Serves OpenAPI documents as real HTTP services that record everything they did."""

from orchestrator.sandbox.app import create_app
from orchestrator.sandbox.document_reading import load_documents, read_document, redirected
from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.effect_ledger import (
    Duplicate,
    EffectLedger,
    ProviderEffect,
    RequestRecord,
)
from orchestrator.sandbox.faults import FaultPlan, FaultRule
from orchestrator.sandbox.playbook import STANDARD, Draft, Playbook
from orchestrator.sandbox.problems import DocumentError, UnservedOperation
from orchestrator.sandbox.sandbox_server import RunningSandbox, SandboxClient, run, running_sandbox

__all__ = [
    "STANDARD",
    "Document",
    "DocumentError",
    "Draft",
    "Duplicate",
    "EffectLedger",
    "FaultPlan",
    "FaultRule",
    "Playbook",
    "ProviderEffect",
    "RequestRecord",
    "RunningSandbox",
    "SandboxClient",
    "UnservedOperation",
    "create_app",
    "load_documents",
    "read_document",
    "redirected",
    "run",
    "running_sandbox",
]
