"""What is made of settled missions, computed without asking anybody: breaches, flaws, reports."""
