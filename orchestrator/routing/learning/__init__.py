"""What is recorded of selections, learned from them, and measured."""
