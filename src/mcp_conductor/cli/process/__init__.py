"""The process of a program: how it starts, is interrupted and ends."""
