"""`steadyhand recover`: the verified part of a damaged run log, in a new file."""

from steadyhand.cli.options import FilePath
from steadyhand.ground.errors import SteadyhandError


class NotComplete(SteadyhandError):  # noqa: N818 - it is named as what was found
    """The log had more than could be verified; the exit code says whether anything was."""

    def __init__(self, said: str, exit_code: int) -> None:
        super().__init__(said)
        self.exit_code = exit_code


def recover(log: FilePath, out: FilePath, /) -> None:
    """Copy the verified part of a run log into a new file, and verify the copy.

    What comes behind the first damage, and the last moment of a run that was killed, is not carried
    over: a recovered log is a log like any other. Exit code 0 where the log was complete, 3 where part
    of it was recovered, 4 where nothing in it is verified and no file was made.

    Parameters
    ----------
    log
        The damaged log; it is only read.
    out
        The new file; it must not exist.
    """
    from steadyhand.runlog import recover as recovering

    done = recovering.recover(log, out)
    if done.outcome is recovering.Outcome.NOTHING:
        raise NotComplete(f"{log}: nothing in it is verified; no file was made", done.outcome)
    if done.outcome is recovering.Outcome.RECOVERED:
        raise NotComplete(f"{out}: recovered. {log} is {done.integrity.in_words()}", done.outcome)
    print(f"{out}: {done.integrity.in_words()}")
