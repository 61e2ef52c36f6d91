"""Notices in the web service: how they were delivered, and decisions that people make in Slack."""
