"""Starting missions, watching them, deciding on their cards, rolling them back."""
