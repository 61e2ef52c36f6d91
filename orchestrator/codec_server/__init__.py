"""The codec server: shows the Temporal Web UI and the `temporal` command what is encrypted."""
