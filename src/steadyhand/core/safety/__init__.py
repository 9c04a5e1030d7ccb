"""What may reach the wire, and what stops the arm: documents 001 and 003, rulings R8 to R11.

Journey of a frame: `mailbox` (passthrough only) tells fresh from held; `send_gates` refuses what no
state of the arm allows; the `envelope` walks the `ladder`: joint limits and work area on the raw
target, the `shaper` (its `laws`, `braking`, `feed_forward`, `jerk`, `tcp_bound`), then the state
feed's age and the `divergence` guard; `writes` counts what the socket took. The measured arm comes
back through `observe_state`. `reach` bounds the tool's way without kinematics, for the work area's
`walls`, `tcp_bound` and `tool_speed`. `latch` is the machine that engages and stops, `episodes` and
`reset_conditions` what it asks. `policy` builds all this from a configuration, or refuses.
"""
