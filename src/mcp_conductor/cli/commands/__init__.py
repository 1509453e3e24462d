"""The commands: a folder for each, with its flags (`flags.py`) and what it does (`run.py`)."""
