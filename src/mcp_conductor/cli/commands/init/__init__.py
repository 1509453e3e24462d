"""`conductor init`."""
