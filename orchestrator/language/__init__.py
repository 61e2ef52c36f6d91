"""English: the words, clauses, values and dates of a text, and the reading of one clause."""
