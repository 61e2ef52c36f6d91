"""How well each tool fits a text: one number per feature and candidate."""
