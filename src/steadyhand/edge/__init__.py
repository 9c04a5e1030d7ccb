"""The outside world: files, clocks, sockets."""
