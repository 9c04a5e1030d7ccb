"""The follower node: a data plane that never waits, and (to come) a control plane beside it."""
