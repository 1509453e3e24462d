"""`conductor replay`."""
