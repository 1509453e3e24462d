"""`conductor unwrap`."""
