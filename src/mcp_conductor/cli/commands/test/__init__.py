"""`conductor test`."""
