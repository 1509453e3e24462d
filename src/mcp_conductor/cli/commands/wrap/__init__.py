"""`conductor wrap`."""
