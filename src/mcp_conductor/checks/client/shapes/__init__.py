"""Shapes: what the specification requires of clients, and how it is checked."""
