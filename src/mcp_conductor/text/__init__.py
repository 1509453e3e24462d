"""Text that others wrote, as it may be shown: made visible, cut, and without secrets."""
