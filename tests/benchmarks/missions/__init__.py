"""The demo trip on this product and on what a user would write instead, side by side."""
