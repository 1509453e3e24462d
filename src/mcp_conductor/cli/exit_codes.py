"""What a program ends with."""

FAILED = 1  # a test or a MUST
COULD_NOT_RUN = 2  # a bad flag or file, nothing to run, a report that could not be written
NO_SERVER = 3  # it could not be started, or went away, so that tests could not be run
INTERNAL_ERROR = 70  # a bug of ours
TIMED_OUT = 124
