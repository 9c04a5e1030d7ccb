"""What can be wrong with a log, one class each: a log is hostile input like any other.

Reading raises these and nothing else. All are `InputError`: the command line says one line and exits
with 2. `scan` raises none of them; what is broken in the middle of a file is told by `Integrity`.
"""

from steadyhand.ground.errors import InputError, SteadyhandError


class LogFault(InputError):  # noqa: N818 - it is named as what was found, and so are all below it
    """Base: something in a log cannot be read."""


# ---- the file


class NotARunLog(LogFault):
    """The first bytes are not those of a run log."""


class LogHeaderCut(LogFault):
    """The file ends inside its header: a log that was cut before its first record."""


class UnsupportedLogVersion(LogFault):
    """A version that this build does not read; version 1 is one (document 002)."""


class UnsupportedLogFlags(LogFault):
    """The header asks for something that this version does not have."""


class SchemaLost(LogFault):
    """No schema record can be read, so nobody knows what the channels are."""


# ---- a payload


class PayloadFault(LogFault):
    """Base: a record's payload is no value of its channel."""


class PayloadTruncated(PayloadFault):
    """The payload ends before the value does."""


class TrailingBytes(PayloadFault):
    """Bytes follow the value."""


class NonFiniteValue(PayloadFault):
    """NaN or infinity where the message forbids it."""


class CountBeyondBounds(PayloadFault):
    """A count that no writer of ours can have written."""


class SampleTimesNotIncreasing(PayloadFault):
    """I2 of document 002: sample times strictly increase."""


class ProgressDecreasing(PayloadFault):
    """I3 of document 002: progress does not decrease."""


class UnknownCode(PayloadFault):
    """A kind or a flag that is not in the table."""


class MalformedPayload(PayloadFault):
    """The packed value cannot be read, or is not of the channel's type."""


class NotCanonical(PayloadFault):
    """The value can be read but is written another way than the one: two runs could not be compared."""


class UndeclaredChannel(PayloadFault):
    """The schema record does not have this channel."""


class SchemaMismatch(PayloadFault):
    """The channel was written with another schema than this build's."""


# ---- writing


class LogWriteError(SteadyhandError):
    """The file does not take what is written: a full disk, a dead mount. What is pending stays pending."""


class Unrecordable(SteadyhandError):  # noqa: N818 - it is named as what happened
    """A value that the log's own reader would refuse; it is not written."""
