"""The other ways to lead, and to end: the ordered transport, mutual TLS, signals while the arm brakes."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steadyhand
from steadyhand.core.safety.latch import StopKind
from steadyhand.edge.keys import MutualTls
from tests.nodes.faults import lawful
from tests.nodes.faults.operating import Operator
from tests.nodes.faults.stack import PATIENT, Stack
from tests.nodes.follower.control_plane.test_nodes_follower_control_tls import Authority
from tests.nodes.processes import wait_until

pytestmark = pytest.mark.slow

MakeStack = Callable[..., Stack]
LONG_BRAKING = "safety.stream_shaper.a_max_deg_s2=12"
"""From ten degrees a second it takes most of a second to rest."""


def test_the_ordered_transport_leads_the_arm_and_its_black_hole_stops_it(make_stack: MakeStack) -> None:
    stack = make_stack(settings=(*PATIENT, "remote_node.transport=grpc"))
    with Operator(stack) as operator:
        operator.begin()
        assert stack.tap.taken == []
        stack.network.kill("control")
        record = stack.wait_stopped()
        assert record.stopped_by is not None
        assert (record.stopped_by.kind, record.stopped_by.name) == (StopKind.STALL, "underrun")
        error = operator.wait_ended()
        assert isinstance(error, steadyhand.Stopped)
        assert error.cause == "stall"
        stood_at = stack.wait_at_rest()
        seen = len(stack.ticks.records)
        stack.network.revive("control")
        operator.recover()
        standing = [record for record in stack.ticks.records[seen:] if record.engage == "stopped"]
        lawful.the_arm_stands(standing, stood_at)
    assert stack.tap.taken == []
    lawful.check(stack)


def test_mutual_tls_leads_the_arm_and_its_estop_stops_it(make_stack: MakeStack, tmp_path: Path) -> None:
    authority = Authority("ours")
    follower, operator_proof = (
        written(authority.identity(name), tmp_path, name) for name in ("follower", "operator")
    )
    proof = [word for name, path in follower.items() for word in (f"--{name.replace('_', '-')}", path)]
    stack = make_stack(proof=proof)
    with Operator(stack, proof=operator_proof) as operator:
        operator.begin()
        assert operator.arm.stop("the test").acknowledged
        record = stack.wait_stopped()
        assert record.stopped_by is not None
        assert record.stopped_by.kind is StopKind.ESTOP
        operator.recover()
    stranger = written(Authority("theirs").identity("operator"), tmp_path, "stranger")
    with pytest.raises(steadyhand.LinkLost):
        steadyhand.connect(stack.config, addresses=stack.addresses, timeout_s=2.0, **stranger)
    lawful.check(stack)


def written(identity: MutualTls, folder: Path, name: str) -> dict[str, Any]:
    """Its three files, by the names that `connect` has for them."""
    parts = {
        "tls_certificate": identity.certificate,
        "tls_key": identity.key,
        "tls_authority": identity.authority,
    }
    for part, content in parts.items():
        path = folder / f"{name}.{part}"
        path.touch(0o600)
        path.write_bytes(content)
    return {part: str(folder / f"{name}.{part}") for part in parts}


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_brakes_to_rest_and_a_second_one_does_not_wait_for_it(
    make_stack: MakeStack, number: signal.Signals
) -> None:
    """SIGHUP alone, and SIGTERM twice."""
    stack = make_stack(settings=(*PATIENT, LONG_BRAKING))
    with Operator(stack) as operator:
        operator.begin()
        twice = number is signal.SIGTERM
        stack.follower.process.send_signal(number)
        stack.wait(lambda record: record.engage == "braking", "an arm that brakes")
        if twice:
            stack.follower.process.send_signal(number)
        assert stack.follower.wait_end() == 0
        operator.die()
    told = stack.follower.told()
    braking = told.index("now braking (by enter_idle)")
    assert ("now idle (by at rest)" in told[braking:]) is not twice
    assert "follower ended: fr3: data plane died 0 times" in told
    assert "STOPPED" not in told
    wait_until(lambda: not stack.status()["streaming"], what="the stream's end at the controller")
    stack.wait_at_rest()
    lawful.check(stack)
