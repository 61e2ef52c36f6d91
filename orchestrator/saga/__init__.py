"""Obligations of a mission at providers, and their compensation: pure."""
