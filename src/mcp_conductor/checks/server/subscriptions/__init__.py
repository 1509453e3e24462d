"""Subscriptions: what the specification requires of servers, and how it is checked."""
