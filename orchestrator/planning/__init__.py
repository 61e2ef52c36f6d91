"""From a goal to legs, and from a leg's situation to its next step."""
