"""Answers as people type them ("tomorrow", "8 pm", "the second one"), read by their fields."""

from orchestrator.client.typed_answers.reading import read_answer, read_field

__all__ = ["read_answer", "read_field"]
