"""`steadyhand operator`: what it refuses before anything moves, its signals, its account, its line."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import steadyhand
from steadyhand.cli import main
from steadyhand.cli.operator import Account, _addresses, _ended_by_signals
from steadyhand.cli.operator_display import Display
from steadyhand.core.operator import OperatorCore, OperatorSettings
from steadyhand.core.operator.notices import Level
from steadyhand.edge.robot_yaml import load_robot
from steadyhand.ground.robot_state import RobotState
from steadyhand.nodes.operator.errors import LinkLost, Refused, Stopped
from steadyhand.nodes.operator.session import SessionKeeper
from steadyhand.nodes.operator.view import ArmEvent, OperatorView, Teller
from steadyhand.view.operator_line import event_line, live_line

ROBOT = str(Path(__file__).resolve().parents[2] / "config" / "robots" / "fairino_fr3_remote_node.yaml")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """One line on standard error."""
    code = main.run(["operator", *arguments])
    lines = capsys.readouterr().err.splitlines()
    assert code in (1, 2), lines
    return lines[-1]


def view(**changes: Any) -> OperatorView:
    core = OperatorCore(OperatorSettings.from_config(load_robot(ROBOT)), first_episode_id=1)
    fields: dict[str, Any] = {
        "now_ns": 0,
        "report": core.report(0),
        "session": SessionKeeper().view(),
        "state": None,
        "stop": None,
        "refusals": {},
        "disengaged": None,
        "engaged_ns": 0,
        "reset_ns": 0,
        "refused_sends": 0,
    }
    return OperatorView(**(fields | changes))


# ---- before anything moves


def test_a_robot_file_that_wants_a_key_is_not_led_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "needs a key" in refused(capsys, ROBOT, "--leader", "sine")


def test_a_motion_nobody_knows_is_refused_by_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--leader" in refused(capsys, ROBOT, "--leader", "sinus")


@pytest.mark.parametrize("option", ["--actions", "--control", "--telemetry", "--announce"])
def test_an_address_that_is_none_is_refused_by_its_option(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, ROBOT, "--leader", "sine", option, "here:there").startswith(
        f"steadyhand: {option}"
    )


def test_each_address_is_set_apart_from_the_others() -> None:
    config = load_robot(ROBOT)
    remote = config.remote_node
    where = _addresses(config, "127.0.0.1:9001", None, "0", None)
    assert where.actions == ("127.0.0.1", 9001)
    assert where.control == (remote.host, remote.grpc_port)
    assert where.telemetry_listen == ("", 0)
    assert _addresses(config, None, None, None, "10.0.0.9:7").telemetry_host == "10.0.0.9"


def test_nobody_there_is_one_line_and_exit_code_1_and_an_account(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    account = tmp_path / "account.json"
    free = ["--control", "127.0.0.1:9", "--actions", "127.0.0.1:9", "--telemetry", "0"]
    options = [
        "--leader",
        "sine",
        "--set",
        "remote_node.auth=none",
        *free,
        "--wait",
        "0.3",
        "--json",
        str(account),
    ]
    assert "no session within 0.3 s" in refused(capsys, ROBOT, *options)
    told = json.loads(account.read_text(encoding="utf-8"))
    assert (told["outcome"], told["stream"]) == ("link_lost", None)
    assert "no session" in told["why"]


# ---- while it runs


class Pressed:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def press(self, reason: str) -> None:
        self.reasons.append(reason)


def test_the_first_signal_ends_softly_and_the_second_is_an_emergency_stop() -> None:
    arm: Any = Pressed()
    before = signal.getsignal(signal.SIGINT)
    with _ended_by_signals(arm):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert arm.reasons == []
        signal.raise_signal(signal.SIGTERM)
        assert len(arm.reasons) == 1
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Stopped("why"), "stopped"),
        (LinkLost("why"), "link_lost"),
        (Refused("why"), "refused"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
def test_the_account_names_the_outcome(error: BaseException, outcome: str) -> None:
    account = Account(robot="a", leader="b", json=None)

    def fail() -> None:
        with account.kept():
            raise error

    with pytest.raises(type(error)):
        fail()
    assert account.outcome == outcome


class Shown:
    def __init__(self) -> None:
        self.view = view()

    def events(self) -> tuple[ArmEvent, ...]:
        return (
            ArmEvent(teller=Teller.OPERATOR, kind="Note", text="a [bold]word", level=Level.ALARM, at_ns=1),
        )


def test_where_there_is_no_terminal_events_are_plain_lines() -> None:
    written, arm = io.StringIO(), Shown()
    with Display(written, plain_every_s=0.0) as display:
        told = display.show(arm)  # type: ignore[arg-type]
    assert written.getvalue().splitlines()[0] == "!! a [bold]word"
    assert written.getvalue().splitlines()[1].startswith("no session")
    assert told[0]["kind"] == "Note"


def test_the_line_says_what_is_wrong_first() -> None:
    assert live_line(view()).startswith("no session | not heard yet")
    playout = {"depth": 3, "target_depth": 6, "interpolated": 2}
    state = RobotState(joint_positions=(0.0,), timestamp=0.0, extras={"playout": playout})
    assert "depth 3/6 | 2 synthetic" in live_line(view(state=state))


def test_an_event_is_marked_by_how_loud_it_is() -> None:
    event = ArmEvent(teller=Teller.FOLLOWER, kind="a", text="b", level=Level.INFO, at_ns=0)
    assert event_line(event) == "   b"


# ---- the package


def test_importing_steadyhand_loads_nothing_that_is_not_asked_for() -> None:
    code = "import sys, steadyhand; print(sorted(m for m in sys.modules if m.startswith('steadyhand.')))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_everything_that_is_promised_is_there() -> None:
    assert [name for name in steadyhand.__all__ if not hasattr(steadyhand, name)] == []
    assert set(steadyhand._HOMES) | {"__version__"} == set(steadyhand.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        steadyhand.nothing  # noqa: B018 - the access is the test
