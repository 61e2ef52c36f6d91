"""The linter: what is wrong with the tool contracts of a set of documents, and how to mend it."""

from orchestrator.catalog.lint.finding import Code, Finding, Severity
from orchestrator.catalog.lint.linter import CODES, RULES, has_errors, lint

__all__ = ["CODES", "RULES", "Code", "Finding", "Severity", "has_errors", "lint"]
