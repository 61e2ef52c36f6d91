"""Start missions, watch them, decide on their cards and roll them back."""
