"""`conductor serve`."""
