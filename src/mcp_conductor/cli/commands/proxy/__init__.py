"""`conductor proxy`."""
