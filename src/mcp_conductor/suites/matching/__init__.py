"""What is expected, compared with what came."""
