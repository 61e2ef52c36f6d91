"""Tool calls over HTTP: checked, credentialed, sent, and their answers read."""
