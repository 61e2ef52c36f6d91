"""Confirmation cards: what each type shows, filled by names and shapes, and drawn as Markdown."""
