"""Whether this machine can do netem at all: the tool, the permission, the kernel."""

import gzip
import os
import re
import shutil
from pathlib import Path
from typing import Final

from steadyhand.ground.errors import InputError

CAP_NET_ADMIN: Final = 12
CAP_SYS_ADMIN: Final = 21
"""Numbers of linux/capability.h: to configure a namespace's network, and to enter it."""

MODULE: Final = "sch_netem"
OPTION: Final = "CONFIG_NET_SCH_NETEM"
ROOT: Final = Path("/")


def check_machine(root: Path = ROOT) -> None:
    """Refuse before anything is tried where it cannot succeed.

    Raises:
        InputError: tc is missing, the permission is, or the kernel was built without netem.
    """
    if shutil.which("tc") is None:
        raise InputError("there is no tc", where="netem", hint="install iproute2")
    if not may_configure(root):
        raise InputError(
            "needs CAP_NET_ADMIN and CAP_SYS_ADMIN", where="netem", hint="run as root, or use the proxy"
        )
    if kernel_has_netem(root) is False:
        raise InputError(f"this kernel has no netem ({OPTION})", where="netem", hint="use the proxy")


def may_configure(root: Path = ROOT) -> bool:
    """Whether this process may enter a network namespace and configure it."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", _read(root / "proc/self/status"), re.MULTILINE)
    held = int(found[1], 16) if found else 0
    return all(held >> capability & 1 for capability in (CAP_NET_ADMIN, CAP_SYS_ADMIN))


def kernel_has_netem(root: Path = ROOT) -> bool | None:
    """Whether the kernel has netem, built in or to load; None where it does not tell.

    Asked in this order: is it loaded, what does the kernel's own configuration say, and is it
    among the modules of this release.
    """
    if (root / "sys/module" / MODULE).exists():
        return True
    release = os.uname().release
    config = _read(root / "proc/config.gz") or _read(root / f"boot/config-{release}")
    if f"{OPTION}=y" in config:
        return True
    if config and f"{OPTION}=m" not in config:
        return False
    modules = root / "lib/modules" / release
    listed = _read(modules / "modules.builtin") + _read(modules / "modules.dep")
    return MODULE in listed if listed else None


def _read(path: Path) -> str:
    """A file's text, unpacked where it is packed; empty where it cannot be read."""
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode(errors="replace")
    except (OSError, EOFError):
        return ""
