"""Test files that we write: from what a server offers, and for a project that has none."""
