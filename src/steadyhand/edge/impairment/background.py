"""A proxy in a thread of its own, for tests and for whoever has no process to spare."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from steadyhand.edge.impairment.proxy import ImpairmentProxy, ProxyConfig

JOIN_S: Final = 5.0


@contextmanager
def running(config: ProxyConfig) -> Iterator[ImpairmentProxy]:
    """A proxy that turns until the block ends.

    Raises:
        InputError: a port is taken.
        RuntimeError: the proxy failed, with what it failed of, or did not end.
    """
    proxy = ImpairmentProxy(config)
    failures: list[BaseException] = []

    def turn() -> None:
        try:
            proxy.run()
        except BaseException as error:  # handed to the thread that waits for it
            failures.append(error)

    thread = threading.Thread(target=turn, name="impairment", daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.stop()
        thread.join(JOIN_S)
        ended = not thread.is_alive()
        if ended:
            proxy.close()
    if failures or not ended:
        raise RuntimeError("the impairment proxy failed") from (failures[0] if failures else None)
