"""Confirmation cards: the parts of each type, filled by names and shapes, and their Markdown."""
