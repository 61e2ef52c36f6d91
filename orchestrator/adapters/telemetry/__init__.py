"""Traces and measurements: what is told, where it goes, and how a process turns it on."""
