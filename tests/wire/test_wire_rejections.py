"""Rejections are counted by name."""

from steadyhand.wire.rejections import Reason, Rejection, RejectionCounts


def test_every_reason_is_counted_by_its_name_from_zero() -> None:
    counts = RejectionCounts()
    assert counts.as_dict() == dict.fromkeys((reason.value for reason in Reason), 0)
    counts.count(Rejection(Reason.REPLAYED))
    counts.count(Rejection(Reason.REPLAYED, "detail"))
    counts.count(Rejection(Reason.TRUNCATED))
    assert counts.of(Reason.REPLAYED) == 2
    assert counts.as_dict()["truncated"] == 1
    assert counts.total == 3
