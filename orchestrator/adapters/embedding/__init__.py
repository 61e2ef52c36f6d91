"""Vectors of texts: the built-in embedder, and a time limit for others."""
