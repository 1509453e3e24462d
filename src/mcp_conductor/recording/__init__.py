"""Recordings: conversations kept in a file, written by one module and read by one."""
