"""`conductor show`."""
