"""`steadyhand controller`: the controller model behind the vendor's real protocol.

`box` is the control box: model, arm, outputs, and the one clock. Three servers speak for it:
`http_server` and `xmlrpc` with `methods` (TCP 20003), `state_server` with `feed_values` (TCP 20005),
`servoj_server` (UDP 20007). `console` presses its buttons; `node` puts all of it on one loop.
"""
