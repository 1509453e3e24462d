"""A server of any shape from a file: what it has, how it answers, and how it misbehaves when told to.

It uses `protocol/` alone, so that it says exactly what its file says: nothing is left out, nothing is added.
"""
