"""What the router knows of tools: cards, inputs, who feeds whom, and the words of a catalog."""
