"""What happens in missions, read from their histories: events of one, and the feed of all."""
