"""`--set PATH=VALUE`, for the commands that hand it on to other processes."""

from collections.abc import Sequence

from steadyhand.ground.errors import InputError


def overrides_from(settings: Sequence[str]) -> dict[str, str]:
    """PATH=VALUE each, path in the robot file to YAML text; the last of two counts.

    Raises:
        InputError: one of them is not PATH=VALUE.
    """
    overrides: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f"{setting!r} is not PATH=VALUE",
                where="--set",
                hint="for example --set communication.playout_buffer_ms=120",
            )
        overrides[key.strip()] = value
    return overrides
