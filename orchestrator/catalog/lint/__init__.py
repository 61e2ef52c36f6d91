"""The linter: findings on the tool contracts of documents, with their fixes."""

from orchestrator.catalog.lint.finding import CODES, Finding, Severity, Suppression
from orchestrator.catalog.lint.linter import RULES, check_ignored, has_errors, lint

__all__ = [
    "CODES",
    "RULES",
    "Finding",
    "Severity",
    "Suppression",
    "check_ignored",
    "has_errors",
    "lint",
]
