"""What is said to a server on purpose, and what must come back: a module for each section."""
