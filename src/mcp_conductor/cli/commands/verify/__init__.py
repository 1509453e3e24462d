"""`conductor verify`."""
