"""The trip as programs of their own, as an author writes them: nothing of this product in them."""
