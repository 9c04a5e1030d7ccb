"""`steadyhand key`: make the pre-shared key that operator and follower prove to each other (R11)."""

from pathlib import Path
from typing import Literal


def key(action: Literal["new"], file: Path, /) -> None:
    """Make a key for `--key`.

    Parameters
    ----------
    action
        new: write 32 random bytes, in hexadecimal, into a file that this user alone can read.
    file
        Where. An existing file is never overwritten. Copy it to the other side over a way that is
        private (scp, a stick), and let nobody else read it there either.
    """
    # Late, so that a mistyped option is answered before the crypto is loaded.
    from steadyhand.edge.keys import create_key

    if action == "new":
        create_key(file)
        print(f"{file}: a new key, readable by this user alone; the other side needs a copy")
