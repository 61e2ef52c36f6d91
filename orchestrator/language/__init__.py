"""Words and values of a text, by English alone."""
