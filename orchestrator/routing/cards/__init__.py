"""Capability cards of tools, their prerequisites, and the vocabulary of a catalog."""
