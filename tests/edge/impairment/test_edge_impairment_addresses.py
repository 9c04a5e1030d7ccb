"""LISTEN:TARGET in its spellings, and what is refused."""

import pytest

from steadyhand.edge.impairment.addresses import parse_forward
from steadyhand.ground.errors import InputError


@pytest.mark.parametrize(
    ("text", "listen", "target"),
    [
        ("9000:9001", ("127.0.0.1", 9000), ("127.0.0.1", 9001)),
        ("9000:127.0.0.2:9001", ("127.0.0.1", 9000), ("127.0.0.2", 9001)),
        ("127.0.0.5:9000:9001", ("127.0.0.5", 9000), ("127.0.0.1", 9001)),
        ("127.0.0.5:0:192.0.2.7:65535", ("127.0.0.5", 0), ("192.0.2.7", 65_535)),
        ("localhost:9000:localhost:9001", ("127.0.0.1", 9000), ("127.0.0.1", 9001)),
    ],
)
def test_a_host_left_out_is_loopback(text: str, listen: tuple[str, int], target: tuple[str, int]) -> None:
    forward = parse_forward(text, "--udp")
    assert (forward.listen, forward.target) == (listen, target)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("9000", "not two addresses"),
        ("", "not two addresses"),
        ("1:2:3:4:5", "not two addresses"),
        ("9000:0", "'0' is not a port from 1"),
        ("9000:65536", "'65536' is not a port"),
        ("9000:-1", "'-1' is not a port"),
        ("9000:٣", "is not a port"),
        ("9000:robot:9001", "'robot' is not an IPv4 address"),
        ("9000:999.0.0.1:9001", "is not an IPv4 address"),
        ("0.0.0.0:9000:127.0.0.1:9001", "0.0.0.0 is not loopback"),
        ("192.0.2.7:9000:127.0.0.1:9001", "is not loopback"),
    ],
)
def test_what_is_not_two_addresses_or_listens_beyond_loopback_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_forward(text, "--udp")
    assert words in str(refused.value)
    assert str(refused.value).startswith("--udp: ")
