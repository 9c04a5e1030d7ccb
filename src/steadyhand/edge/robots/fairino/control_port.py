"""FAIRINO's control port: XML-RPC calls with deadlines, and the codes they return in words."""

import time
from typing import Any, Final

from steadyhand.edge.robots.control_port import ControlPort
from steadyhand.edge.robots.fairino.codes import code_in_words, fault_in_words
from steadyhand.edge.robots.fairino.ports import VENDOR_PORTS, FairinoPorts, require_address
from steadyhand.edge.robots.fairino.xmlrpc_client import CallError, XmlRpcCaller
from steadyhand.edge.robots.reports import CallOutcome, CallReport, Codes

CALL_TIMEOUT_S: Final = 1.0
ENABLE_TIMEOUT_S: Final = 5.0
"""Drives need longer than a look-up: brakes are released one by one."""
STOP_TIMEOUT_S: Final = 0.5

MODE_AUTOMATIC: Final = 0
ENABLE: Final = 1
DISABLE: Final = 0


class FairinoControlPort(ControlPort):
    """One controller's control plane.

    Args:
        address: IPv4 literal of the controller.
        ports: the vendor's, unless a test says otherwise.
        call_timeout_s: of an ordinary call.
        enable_timeout_s: of enabling and disabling.
        stop_timeout_s: of StopMotion, connecting included.

    Raises:
        InputError: the address is a name.
    """

    def __init__(
        self,
        address: str,
        *,
        ports: FairinoPorts = VENDOR_PORTS,
        call_timeout_s: float = CALL_TIMEOUT_S,
        enable_timeout_s: float = ENABLE_TIMEOUT_S,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        super().__init__()
        self._caller = XmlRpcCaller(require_address(address), ports.xmlrpc, timeout_s=call_timeout_s)
        self._enable_timeout_s = enable_timeout_s
        self._stop_timeout_s = stop_timeout_s

    def _connect(self) -> CallReport:
        self._caller.close()
        return self._call("GetControllerIP")

    def _enable(self) -> CallReport:
        mode = self._call("Mode", MODE_AUTOMATIC)
        return self._call("RobotEnable", ENABLE, timeout_s=self._enable_timeout_s) if mode.done else mode

    def _disable(self) -> CallReport:
        return self._call("RobotEnable", DISABLE, timeout_s=self._enable_timeout_s)

    def _reset(self) -> CallReport:
        return self._call("ResetAllError")

    def _stop(self) -> CallReport:
        return self._call("StopMotion", timeout_s=self._stop_timeout_s)

    def _read_codes(self) -> Codes:
        report, values = self._ask("GetRobotErrorCode")
        if report.done and not (len(values) == 2 and all(isinstance(value, int) for value in values)):
            detail = f"GetRobotErrorCode: two codes were expected, not {values!r}"
            return Codes(report=_unanswered(report.call, detail, report.took_ms))
        main_code, sub_code = values if report.done else (0, 0)
        return Codes(
            report=report, main_code=main_code, sub_code=sub_code, meaning=fault_in_words(main_code, sub_code)
        )

    def _disconnect(self) -> None:
        self._caller.close()

    def _call(self, method: str, *arguments: Any, timeout_s: float | None = None) -> CallReport:
        return self._ask(method, *arguments, timeout_s=timeout_s)[0]

    def _ask(
        self, method: str, *arguments: Any, timeout_s: float | None = None
    ) -> tuple[CallReport, list[Any]]:
        """Make a call; the report and the values beside the code."""
        started_ns = time.monotonic_ns()
        try:
            answer = self._caller.call(method, *arguments, timeout_s=timeout_s)
        except CallError as failure:
            return _unanswered(method, str(failure), _ms_since(started_ns)), []
        took_ms = _ms_since(started_ns)
        # A getter answers [code, values…], and on an error the bare code.
        code, *values = answer if isinstance(answer, list) and answer else [answer]
        if not isinstance(code, int) or isinstance(code, bool):
            return _unanswered(method, f"{method}: {answer!r:.80} is no return code", took_ms), []
        outcome = CallOutcome.DONE if code == 0 else CallOutcome.REFUSED
        report = CallReport(
            call=method, outcome=outcome, code=code, detail=code_in_words(code), took_ms=took_ms
        )
        return report, values


def _unanswered(method: str, detail: str, took_ms: float) -> CallReport:
    return CallReport(call=method, outcome=CallOutcome.UNANSWERED, detail=detail, took_ms=took_ms)


def _ms_since(started_ns: int) -> float:
    return (time.monotonic_ns() - started_ns) / 1e6
