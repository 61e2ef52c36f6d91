"""A real small model on this machine, and what becomes of sixteen goals that it plans."""
