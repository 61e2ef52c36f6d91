"""Every name and message that crosses the Temporal boundary."""
