"""The linter: what is wrong with the tool contracts of documents, and how to correct it."""

from orchestrator.catalog.lint.finding import Code, Finding, Severity
from orchestrator.catalog.lint.linter import CODES, RULES, has_errors, lint

__all__ = ["CODES", "RULES", "Code", "Finding", "Severity", "has_errors", "lint"]
