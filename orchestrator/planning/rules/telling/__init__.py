"""Answers of reading tools as a person tells them: a sentence, and a small table."""

from orchestrator.planning.rules.telling.answer import Telling, tell

__all__ = ["Telling", "tell"]
