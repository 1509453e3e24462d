"""`conductor check`."""
