"""What can go wrong while somebody leads: each error says what, where and what to do.

All are `SteadyhandError`s. None of them is needed for the arm's safety: the follower has stopped or
will stop by itself, and the exception tells the program that led it.
"""

from steadyhand.ground.errors import SteadyhandError


class ArmError(SteadyhandError):
    """Something about the arm or the way to it; the arm is not led any more, or was never."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        """Say what is wrong, `where` (the arm's id) and what to do (`hint`)."""
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what, where, hint)

    def __str__(self) -> str:
        """One line: «where: what (hint)»."""
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line} ({self.hint})" if self.hint else line


class NotEngaged(ArmError):  # noqa: N818 - the state it names reads better where it is caught
    """The stream is not prepared: nothing was sent, and the arm did nothing."""


class Stopped(ArmError):  # noqa: N818 - the state it names reads better where it is caught
    """The arm is stopped and latched.

    Attributes:
        cause: the follower's word for it, "stall", "guard", "estop", …; "" where it did not say.
    """

    def __init__(self, what: str, *, cause: str = "", where: str = "", hint: str = "") -> None:
        """As `ArmError`, and the cause in the follower's word."""
        self.cause = cause
        super().__init__(what, where=where, hint=hint)


class LinkLost(ArmError):  # noqa: N818 - the state it names reads better where it is caught
    """Nobody answers, or nobody is heard any more."""


class Refused(ArmError):  # noqa: N818 - the state it names reads better where it is caught
    """The follower, or this end, said no.

    Attributes:
        reason: in the words of whoever refused.
    """

    def __init__(self, what: str, *, reason: str = "", where: str = "", hint: str = "") -> None:
        """As `ArmError`, and the reason alone."""
        self.reason = reason or what
        super().__init__(what, where=where, hint=hint)


class EngineFailed(ArmError):  # noqa: N818 - the state it names reads better where it is caught
    """A mistake of ours: the operator's loop has ended. The follower stops the arm by itself."""
