"""`conductor discover`."""
