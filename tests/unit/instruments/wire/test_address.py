"""Addresses are read back as they are written; what is wrong is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labenv_instruments.wire.address import Address, parse_address
from labenv_schemas.errors import ConfigError

WORD = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8)


@given(
    WORD.map(lambda w: "d_" + w) | st.none(),
    WORD | st.just("::1") | st.just("10.0.0.5"),
    st.integers(1, 65535) | st.none(),
    st.dictionaries(WORD, st.text(max_size=8), max_size=3),
)
def test_an_address_is_read_back(driver, host, port, options) -> None:
    if host == "::1" and port is None:
        port = 1
    address = Address(driver, "tcp", host, port, options)
    assert parse_address(str(address)) == address


def test_parts() -> None:
    found = parse_address("eurotherm+tcp://10.0.0.5:502?model=3216&unit=1")
    assert found == Address("eurotherm", "tcp", "10.0.0.5", 502, {"model": "3216", "unit": "1"})
    assert parse_address("keithley-2400+visa://GPIB0::24::INSTR").host == "GPIB0::24::INSTR"
    assert parse_address("tcp://h:7777").with_driver("lakeshore_336").driver == "lakeshore_336"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10.0.0.5:502", "has no '://'"),
        ("eurotherm+udp://h:1", "no way to reach"),
        ("eurotherm+tcp://", "names no host"),
        ("eurotherm+tcp://h:99999", "no TCP port"),
        ("eurotherm+tcp://h:abc", "no TCP port"),
        ("eurotherm+tcp://h:1?model", "no options"),
    ],
)
def test_what_is_no_address_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_address(text)


def test_an_address_of_another_driver_is_refused() -> None:
    with pytest.raises(ConfigError, match="is for eurotherm"):
        parse_address("eurotherm+tcp://h:1").with_driver("aeris")
