"""Pure verdicts on settled missions: breaches, flaws and reports."""
