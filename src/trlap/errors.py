"""The one exception that is meant for a person: its message is one line that says what to do."""


class TrlapError(Exception):
    """Bad input or a missing resource. Printed as one line, without a traceback; exit code 2."""
