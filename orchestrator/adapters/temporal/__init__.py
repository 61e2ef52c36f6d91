"""What is read from and started on the Temporal server, and how workers run workflows."""
