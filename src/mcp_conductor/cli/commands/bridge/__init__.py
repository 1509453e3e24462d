"""`conductor bridge`."""
