"""From a text to what is asked: clauses, follow-ups, the intent frame."""
