"""`conductor record`."""
