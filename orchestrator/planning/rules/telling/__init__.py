"""Answers of reading tools as a person tells them: a sentence, and a small table."""

from orchestrator.planning.rules.telling.whole_answer import Telling, tell

__all__ = ["Telling", "tell"]
