"""Sums over terms and pieces of words; they know nothing of tools."""
