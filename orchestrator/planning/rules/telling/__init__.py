"""Answers of reading tools as a person tells them: a sentence, and a small table."""

from orchestrator.planning.rules.telling.whole_answer import (
    Telling,
    names_borne,
    needs_all,
    number_found,
    tell,
    the_one_told,
)

__all__ = ["Telling", "names_borne", "needs_all", "number_found", "tell", "the_one_told"]
