"""A contract for a document that has none: an overlay that is proposed, for a person to edit.

What the document tells is written as an action. What is only likely is a question beside it, and
never a fact.
"""
