"""The run log: what a run took in and what it answered, byte for byte (document 002; R15, R16, R17).

Journey of a record: a value of `messages` (or of `core`) → its channel's codec (`channels`) → framed by
`writer`, covered by a checkpoint (`framing`) → file → `window`, `walk`, `scan` find out what can be
trusted → `reader` → the codec again → `overview`, `dump`. `recover` copies what is verified.

Beside `edge`, and strangers to it: files are opened here by small functions of our own, and every time
in a log is handed in. The byte layout is written down in docs/runlog.md.
"""
