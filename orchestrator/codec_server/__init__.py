"""The codec server: decrypts payloads for the Temporal Web UI and the `temporal` command."""
