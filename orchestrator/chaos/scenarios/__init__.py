"""What happens to missions, planned without doing any of it: faults, moments, points, cases."""
