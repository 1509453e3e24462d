"""What is judged of any conversation with a server, also in a run of tests: a module for each section."""
