"""Scores of tools for a text: one number per feature and candidate."""
