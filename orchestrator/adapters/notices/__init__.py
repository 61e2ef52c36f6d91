"""Notices leave here: the configuration of channels, webhooks, and messages in Slack."""
