"""What a shaper may send never faults the controller, whenever it arrives and whatever is left out.

R10: the controller judges successive accepted frames over the nominal period. A tick in which nothing
was sent is followed by the shaper's next legal step from the last setpoint *sent*.
"""

import copy
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.controller.admission import ServoFrame
from steadyhand.core.controller.codes import ReturnCode
from steadyhand.core.controller.constants import FR3, FR20, PRESETS, SIM
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.triggers import JointSpeedTrigger, VelocityStepTrigger

Ready = Callable[..., ControllerModel]
MS = 1_000_000
T_NS = 10 * MS
START_NS = 2000 * MS
V_MAX_DEG_S = 130.0
A_MAX_DEG_S2 = 500.0

# Stretches of a stream: the acceleration asked of two joints (shares of a_max), for how many ticks,
# how early or late its frames arrive, and how many ticks nothing is sent before it.
stretches = st.lists(
    st.tuples(
        st.sampled_from([-1.0, -0.7, 0.0, 0.4, 1.0]),
        st.floats(-1, 1),
        st.integers(1, 40),
        st.integers(-4 * MS, 4 * MS),
        st.sampled_from([0, 0, 0, 1, 2, 5, 30]),
    ),
    min_size=2,
    max_size=12,
)


class Shaper:
    """Any law within the bounds: |v| ≤ v_max, |Δv| ≤ a_max·T, and never into a joint's limit."""

    def __init__(self) -> None:
        self.position_deg = [0.0, 0.0]
        self.velocity_deg_s = [0.0, 0.0]

    def next(self, shares: tuple[float, float]) -> tuple[float, ...]:
        for joint, share in enumerate(shares):
            wall_deg = 150.0 if joint == 0 else 120.0
            velocity = self.velocity_deg_s[joint]
            room_deg = wall_deg - abs(self.position_deg[joint])
            outward = velocity * self.position_deg[joint] > 0
            if outward and room_deg < velocity * velocity / (2 * A_MAX_DEG_S2) + 2.0:
                share = -1.0 if velocity > 0 else 1.0  # noqa: PLW2901 - brake before the wall
            velocity += share * A_MAX_DEG_S2 * 0.010
            velocity = min(max(velocity, -V_MAX_DEG_S), V_MAX_DEG_S)
            self.velocity_deg_s[joint] = velocity
            self.position_deg[joint] += velocity * 0.010
        return (self.position_deg[0], 0.0, self.position_deg[1], 0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_legal_stream_never_faults_however_it_arrives(ready: Ready, name: str) -> None:
    fresh = ready(PRESETS[name])

    @settings(max_examples=60, deadline=None)
    @given(stretches)
    def holds(plan: list[tuple[float, float, int, int, int]]) -> None:
        controller, shaper, tick = copy.deepcopy(fresh), Shaper(), 1
        for one, other, count, late_ns, silent in plan:
            tick += silent  # nothing sent: the shaper's state stays at the last setpoint
            for index in range(count):
                now_ns = START_NS + tick * T_NS + (late_ns if index % 2 else 0)
                tick += 1
                frame = ServoFrame(joints_deg=shaper.next((one, other)), period_ns=T_NS)
                assert controller.servo_j(frame, now_ns) is ReturnCode.OK
                state = controller.state(now_ns)
                assert state.main_code == 0
                # What the joint-speed guard watches (R18: 150 °/s): the arm never outruns it.
                assert max(map(abs, state.joint_velocities_deg_s)) < 150.0

    holds()


@pytest.mark.parametrize("pause_ms", [20, 30, 60, 100, 150, 400, 3000])
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_starved_the_arm_brakes_without_a_fault_and_rejoins_the_sequence(
    ready: Ready, name: str, pause_ms: int
) -> None:
    controller = ready(PRESETS[name])
    shaper = Shaper()
    now_ns = START_NS
    for _ in range(40):  # up to 130 °/s in 26 ticks, then cruise
        controller.servo_j(ServoFrame(joints_deg=shaper.next((1.0, 0.0)), period_ns=T_NS), now_ns)
        now_ns += T_NS
    last_deg = shaper.position_deg[0]
    during = [controller.state(now_ns + ms * MS) for ms in range(pause_ms)]
    now_ns += pause_ms * MS
    if pause_ms >= 400:
        # v²/2a beyond the last setpoint, at the controller's own limit; then it waits.
        assert during[-1].joints_deg[0] == pytest.approx(last_deg + 130.0**2 / 5000.0, abs=0.01)
        assert during[-1].joint_velocities_deg_s[0] == 0.0
        assert during[-1].motion_done == 1
    states = []
    for _ in range(50):
        share = -1.0 if shaper.velocity_deg_s[0] > 1.0 else 0.0
        joints_deg = shaper.next((share, 0.0))
        assert controller.servo_j(ServoFrame(joints_deg=joints_deg, period_ns=T_NS), now_ns) == 0
        states += [controller.state(now_ns + ms * MS) for ms in range(10)]
        now_ns += T_NS
    assert all(state.main_code == 0 for state in during + states)
    assert max(state.joint_velocities_deg_s[0] for state in during + states) <= V_MAX_DEG_S + 5.0
    assert controller.state(now_ns + 500 * MS).joints_deg[0] == pytest.approx(
        shaper.position_deg[0], abs=0.01
    )


@pytest.mark.parametrize("trim", [-0.005, -0.003, 0.0, 0.003, 0.005])
@pytest.mark.parametrize("constants", [FR3, FR20, SIM], ids=lambda preset: preset.name)
def test_a_stream_trimmed_against_the_nominal_period_never_drifts_away(
    ready: Ready, constants: object, trim: float
) -> None:
    """R2: the wire's tick moves with the trim while cmdT stays nominal. Forty seconds of it here."""
    controller = ready(constants)
    period_ns = round(T_NS * (1 + trim))
    position_deg, deltas_ms = 0.0, []
    for tick in range(4000):
        now_ns = START_NS + tick * period_ns
        direction = 1.0 if (tick // 500) % 2 == 0 else -1.0
        position_deg += direction * 20.0 * 0.010
        # A reversal at 20 °/s is a jump of 40 °/s: far under the trigger.
        assert controller.servo_j(_first(position_deg), now_ns) is ReturnCode.OK
        if tick % 500 > 200:
            delta_deg = direction * (position_deg - controller.state(now_ns).joints_deg[0])
            deltas_ms.append(1000.0 * delta_deg / 20.0)
    lag_ms = controller.constants.lag_ns / MS
    assert max(deltas_ms) < lag_ms + 4.0
    assert min(deltas_ms) > lag_ms - 4.0


def _first(joint_deg: float) -> ServoFrame:
    return ServoFrame(joints_deg=(joint_deg, 0.0, 0.0, 0.0, 0.0, 0.0), period_ns=T_NS)


def test_the_lag_stays_l_under_arrival_jitter(ready: Ready) -> None:
    controller = ready(FR3)
    deltas_ms = []
    for tick in range(2000):
        jitter_ns = ((tick * 7919) % 17 - 8) * MS // 2
        controller.servo_j(_first(0.05 * tick), START_NS + (tick + 1) * T_NS + jitter_ns)
        if tick > 200:
            on_grid_ns = START_NS + (tick + 1) * T_NS + 4 * MS + MS // 2
            sent_by_then_deg = 0.05 * (tick + 0.45)
            deltas_ms.append((sent_by_then_deg - controller.state(on_grid_ns).joints_deg[0]) / 0.005)
    assert sum(deltas_ms) / len(deltas_ms) == pytest.approx(78.0, abs=1.0)
    assert max(deltas_ms) - min(deltas_ms) < 4.0


def test_the_state_does_not_depend_on_how_often_it_is_asked(ready: Ready) -> None:
    often, seldom = ready(FR3), ready(FR3)
    for tick in range(100):
        now_ns = START_NS + tick * T_NS
        joint_deg = 0.3 * tick if tick < 60 else 0.3 * 60 + 2.6 * (tick - 60)
        assert often.servo_j(_first(joint_deg), now_ns) == seldom.servo_j(_first(joint_deg), now_ns)
        for ms in range(1, 10):
            often.state(now_ns + ms * MS)
    end_ns = START_NS + 3000 * MS
    assert often.state(START_NS + 1000 * MS) == seldom.state(START_NS + 1000 * MS)
    assert often.state(end_ns) == seldom.state(end_ns)


def test_the_same_seed_gives_the_same_run_and_a_copy_goes_on_the_same_way(ready: Ready) -> None:
    one, other = ready(FR3, 5), ready(FR3, 5)
    copied: ControllerModel | None = None
    for tick in range(400):
        now_ns = START_NS + tick * T_NS
        if tick == 150:
            copied = copy.deepcopy(one)
        joint_deg = 1.25 * (tick // 20 % 2)  # in the band, over and over
        codes = {model.servo_j(_first(joint_deg), now_ns) for model in (one, other)}
        assert len(codes) == 1
        if copied is not None:
            assert copied.servo_j(_first(joint_deg), now_ns) in codes
            assert copied.state(now_ns) == one.state(now_ns) == other.state(now_ns)
    assert one.gate.main_code == 1


def test_a_legal_stream_never_draws_the_coin(ready: Ready) -> None:
    """Two runs of one seed must not part because one of them had a longer legal stretch."""
    controller, shaper = ready(FR3, 9), Shaper()
    before = controller.rng.getstate()
    for tick in range(200):
        joints_deg = shaper.next((1.0 if tick < 100 else -1.0, 0.3))
        controller.servo_j(ServoFrame(joints_deg=joints_deg, period_ns=T_NS), START_NS + tick * T_NS)
    assert controller.rng.getstate() == before


def test_a_legal_stream_passes_the_joint_speed_trigger_too(ready: Ready) -> None:
    controller, shaper = ready(FR3, trigger=JointSpeedTrigger(limit_deg_s=(180.0,) * 6)), Shaper()
    for tick in range(200):
        joints_deg = shaper.next((1.0 if tick < 100 else -1.0, 0.3))
        frame = ServoFrame(joints_deg=joints_deg, period_ns=T_NS)
        assert controller.servo_j(frame, START_NS + tick * T_NS) is ReturnCode.OK


def test_one_frame_lost_after_the_shaper_doubles_a_step_and_may_fault(ready: Ready) -> None:
    """A shaper advanced for a frame the controller never saw breaks its promise above 100 °/s.

    Hence R8's companion: shaper state advances only when the socket took the frame; what the network
    loses between the socket and the controller stays a hazard on any link that loses.
    """
    trips = 0
    for seed in range(20):
        controller, shaper = ready(FR3, seed), Shaper()
        for tick in range(60):
            joints_deg = shaper.next((1.0, 0.0))
            if tick != 40:
                frame = ServoFrame(joints_deg=joints_deg, period_ns=T_NS)
                controller.servo_j(frame, START_NS + tick * T_NS)
        trips += controller.gate.main_code
    assert trips > 0
    slow = VelocityStepTrigger.from_constants(FR3)
    assert slow.onset_deg_s == 100.0
