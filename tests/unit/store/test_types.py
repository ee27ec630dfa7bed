from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.exc import StatementError

from labenv.store.types import (
    CompressedJson,
    FiniteFloat,
    FiniteJson,
    FreeText,
    UtcDateTime,
    from_json,
    to_json,
)

TABLE = sa.Table(
    "t",
    sa.MetaData(),
    sa.Column("moment", UtcDateTime),
    sa.Column("number", FiniteFloat),
    sa.Column("json", FiniteJson),
    sa.Column("packed", CompressedJson),
    sa.Column("text", FreeText),
)


@pytest.fixture
def connection():
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        TABLE.metadata.create_all(connection)
        yield connection
    engine.dispose()


def round_trip(connection, **values):
    connection.execute(sa.delete(TABLE))
    connection.execute(sa.insert(TABLE), values)
    return connection.execute(sa.select(TABLE)).one()


def test_moments_keep_their_instant_and_sort_as_text(connection):
    west = datetime(2026, 1, 1, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=-9)))
    row = round_trip(connection, moment=west)
    assert row.moment == west
    assert row.moment.tzinfo is UTC
    raw = connection.exec_driver_sql("SELECT moment FROM t").scalar()
    assert raw == "2026-01-02T08:59:59.999999Z"


def test_a_naive_moment_is_refused(connection):
    with pytest.raises(StatementError, match="no time zone"):
        round_trip(connection, moment=datetime(2026, 1, 1))
    connection.exec_driver_sql("INSERT INTO t (moment) VALUES ('2026-01-01 00:00:00')")
    with pytest.raises(ValueError, match="no time zone"):
        connection.execute(sa.select(TABLE)).all()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, np.float32("nan"), True, "1"])
def test_what_is_no_finite_number_is_refused(connection, number):
    with pytest.raises(StatementError, match=r"not finite|not a number"):
        round_trip(connection, number=number)


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_finite_numbers_come_back_exactly(number):
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        TABLE.metadata.create_all(connection)
        row = round_trip(connection, number=number, json=number, packed=number)
    engine.dispose()
    assert row.number == number
    assert math.copysign(1.0, row.json) == math.copysign(1.0, number)
    assert row.json == number == row.packed


def test_sqlite_can_query_the_json(connection):
    round_trip(connection, json={"operations": [{"target_k": 1373.15}]})
    query = "SELECT json_extract(json, '$.operations[0].target_k') FROM t"
    assert connection.exec_driver_sql(query).scalar() == 1373.15


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1.0, {"b": math.nan}]}, r"a\[1\]\.b: nan is not finite"),
        ({"a": np.float64("inf")}, "a: inf is not finite"),
        ({"a": np.float32("nan")}, "a: nan is not finite"),
        ({"a": {1, 2}}, "a: set is not JSON"),
        ({"a": np.zeros(3)}, "a: ndarray is not JSON"),
        ([b"bytes"], r"\[0\]: bytes is not JSON"),
        ({"a": {1: "one", "1": "also"}}, "a: key 1 is not text"),
        (math.nan, "value: nan"),
    ],
)
def test_what_json_cannot_hold_is_named_by_its_place(value, message):
    with pytest.raises(ValueError, match=message):
        to_json(value)


def test_a_loop_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="not JSON"):
        to_json(loop)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_json_with_numbers_that_are_not_finite_is_not_read(text):
    with pytest.raises(ValueError, match="not a finite number"):
        from_json(text)


def test_numpy_scalars_become_numbers():
    assert json.loads(to_json({"a": np.float32(0.5), "b": np.int64(3), "c": np.True_})) == {
        "a": 0.5,
        "b": 3,
        "c": True,
    }


def test_equal_data_give_equal_text():
    assert to_json({"b": 1, "a": 2}) == to_json({"a": 2, "b": 1})


def test_damaged_compressed_data_is_said_to_be(connection):
    round_trip(connection, packed={"a": 1})
    connection.exec_driver_sql("UPDATE t SET packed = x'00'")
    with pytest.raises(ValueError, match="damaged"):
        connection.execute(sa.select(TABLE)).all()


def test_nul_becomes_its_symbol(connection):
    assert round_trip(connection, text="a\x00b").text == "a␀b"
