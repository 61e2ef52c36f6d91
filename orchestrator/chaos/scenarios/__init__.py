"""Pure plans of the events of missions: faults, moments and points."""
