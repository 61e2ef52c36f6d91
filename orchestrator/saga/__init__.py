"""What a mission may have left at providers, and how it is taken back: pure."""
