"""What stands between a real client and a real server: all that is said passes, and is recorded."""
