"""Proposed contracts for documents without any: an overlay for a person to edit.

Facts of the document become actions; likely ones become questions next to them.
"""
