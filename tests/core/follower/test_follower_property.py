"""Whatever arrives, whenever: FollowerCore never raises, and what it writes is legal motion."""

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from steadyhand.core.follower.inputs import EnterIdle, PrepareStream, ProbeReady, ResetEmergency
from steadyhand.core.follower.outputs import ProgramFault

OPERATIONS = 3_000
REQUESTS = (PrepareStream(), ProbeReady(), EnterIdle(), ResetEmergency())


@pytest.mark.parametrize("seed", range(6))
def test_no_input_raises_and_every_frame_within_an_engagement_is_legal(seed: int, make_rig: Any) -> None:
    dice = Random(seed)
    rig = make_rig(communication={"playout_adaptive_max_ms": 100.0})
    rig.observe()
    stretches: list[list[tuple[float, ...]]] = [[]]
    for _ in range(OPERATIONS):
        chance = dice.random()
        if chance < 0.45:
            step = 0.5 if dice.random() < 0.9 else 60.0 * dice.random() - 30.0
            rig.pose = (max(-170.0, min(170.0, rig.pose[0] + step)), *rig.pose[1:])
            datagram = rig.datagram(rig.pose)
            if dice.random() < 0.1:
                cut = int(dice.random() * len(datagram))
                datagram = datagram[:cut] + bytes([int(256 * dice.random())]) + datagram[cut + 1 :]
            if dice.random() < 0.95:
                rig.deliver(datagram)
        elif chance < 0.9:
            rig.tick()
        elif chance < 0.93:
            rig.deliver(bytes(int(256 * dice.random()) for _ in range(int(80 * dice.random()))))
        elif chance < 0.96:
            rig.control(REQUESTS[int(4 * dice.random())])
        elif chance < 0.965:
            rig.deliver(rig.datagram((), emergency_stop=True, episode_id=int(9 * dice.random())))
        else:
            rig.control(ResetEmergency())
            rig.control(PrepareStream())
            rig.control(ProbeReady())
        if rig.core.state.value not in ("streaming", "braking") and rig.frames:
            stretches.append([rig.primed, *rig.frames])
            rig.frames = []
    stretches.append([rig.primed, *rig.frames])
    assert not [event for event in rig.events if isinstance(event, ProgramFault)]
    assert max(map(len, stretches)) > 50
    for frames in stretches:
        speeds = [0.0, *((later[0] - earlier[0]) / 0.01 for earlier, later in pairwise(frames))]
        assert all(abs(speed) <= 130.0 + 1e-6 for speed in speeds)
        assert all(abs(b - a) <= 5.0 + 1e-6 for a, b in pairwise(speeds))
