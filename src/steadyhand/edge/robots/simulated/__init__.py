"""The controller model as a robot without sockets, in virtual time. Same contract, same probe."""
