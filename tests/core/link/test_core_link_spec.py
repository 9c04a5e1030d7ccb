"""Links from a line of text."""

import re
from math import inf

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.link import PROFILES, LinkProfile, Outage, parse_link_spec
from steadyhand.ground.errors import InputError


def parsed(text: str) -> LinkProfile:
    """Parsed, without its name and description."""
    return msgspec.structs.replace(parse_link_spec(text), name="", description="")


def test_keys_are_the_profiles_fields() -> None:
    assert parsed("delay_ms=40,jitter_ms=8,loss=0.01,reorder=true") == LinkProfile(
        delay_ms=40.0, jitter_ms=8.0, loss=0.01, reorder=True
    )


def test_jitter_ms_alone_is_the_mean_of_an_exponential() -> None:
    assert parse_link_spec("jitter_ms=8").jitter == "exponential"


def test_every_kind_of_value_is_read() -> None:
    text = " jitter=pareto , jitter_ms = 2e0, queue_bytes=9000,outage_burst=No, outages=5000+300/9000+inf "
    assert parsed(text) == LinkProfile(
        jitter="pareto",
        jitter_ms=2.0,
        queue_bytes=9000,
        outages=(Outage(start_ms=5000.0, duration_ms=300.0), Outage(start_ms=9000.0, duration_ms=inf)),
    )


def test_a_profiles_name_is_a_spec() -> None:
    assert parse_link_spec("wifi") is PROFILES["wifi"]


def test_a_profile_can_be_changed() -> None:
    expected = msgspec.structs.replace(PROFILES["wifi"], loss=0.05, name="", description="")
    assert parsed("wifi:loss=0.05") == expected


def test_the_spec_is_its_name() -> None:
    assert parse_link_spec("wifi:loss=0.05").name == "wifi:loss=0.05"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("delay=40", "unknown key 'delay' (did you mean delay_ms?)"),
        ("jiter_ms=4", "unknown key 'jiter_ms' (did you mean jitter_ms?)"),
        ("zzz=4", "unknown key 'zzz' (there are delay_ms, jitter,"),
        ("wify", "no link profile 'wify' (did you mean wifi?)"),
        ("wify:loss=0.1", "no link profile 'wify' (did you mean wifi?)"),
        ("", "no link profile ''"),
        ("wifi:", "'' is not key=value"),
        ("loss=0.1,", "'' is not key=value"),
        ("loss=", "'loss=' is not key=value"),
        ("loss=0.1,loss=0.2", "loss is given twice"),
        ("loss=lots", "loss=lots does not parse (a number)"),
        ("loss=nan", "loss=nan does not parse (a number)"),
        ("loss=2", "loss must be from 0 to 1, not 2"),
        ("delay_ms=inf", "delay_ms must be from 0 to 3.6e+06, not inf"),
        ("reorder=maybe", "reorder=maybe does not parse (true or false)"),
        ("queue_bytes=1.5", "queue_bytes=1.5 does not parse (a whole number)"),
        ("queue_bytes=" + "9" * 5000, "does not parse"),
        ("jitter=gauss", "unknown jitter 'gauss' (one of exponential, normal, pareto)"),
        ("outages=5000", "outages=5000 does not parse (START+LENGTH in ms"),
        ("outages=5000+0", "an outage cannot last 0 ms"),
        ("trace=x", "unknown key 'trace'"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        parse_link_spec(text)
    assert "\n" not in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="losdelay_ms=,:.0129+-/einf", max_size=40)))
def test_any_text_is_a_link_or_one_line(text: str) -> None:
    try:
        link = parse_link_spec(text)
    except InputError:
        return
    assert link.name == text.strip()
