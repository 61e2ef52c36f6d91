"""Accounting: what a goal says, thing by thing, and what of its plan takes each up."""
