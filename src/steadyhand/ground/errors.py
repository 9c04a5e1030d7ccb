"""Errors a person has to read: what is wrong, where, and what to do about it.

Hostile input off the wire never raises; it becomes a typed rejection (`wire.rejections`). These
classes are for the things a person handed us: a file, an option, a configuration.
"""


class SteadyhandError(Exception):
    """Base of every error this project raises on purpose.

    The command line prints `str(error)` on one line and exits with `exit_code`; a traceback is
    reserved for our own mistakes.
    """

    exit_code = 1


class InputError(SteadyhandError):
    """Something the user handed in cannot be used: a file, a value, an option."""

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        """Say what is wrong, `where` (file, line, path in the file) and what to do (`hint`)."""
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what, where, hint)

    def __str__(self) -> str:
        """One line: «where: what (hint)»."""
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line} ({self.hint})" if self.hint else line


class ConfigError(InputError):
    """A robot file with a wrong key, a value of the wrong type, or a contradiction."""
