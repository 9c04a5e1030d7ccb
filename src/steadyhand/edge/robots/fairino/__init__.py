"""FAIRINO controllers, by the vendor's own protocol (docs/fairino.md).

`servoj_udp` and `cnde` are the two binary conversations as bytes ⇄ values, `cnde_fields` the names of
the state feed, `cnde_client` its state machine, `state_feed` the socket around it, `state` the way
from registers to a measured arm. `probe` finds out when setpoints are taken. `data_port` composes
them; `control_port` calls over `xmlrpc_client`. `codes` puts the vendor's numbers into words.
"""
