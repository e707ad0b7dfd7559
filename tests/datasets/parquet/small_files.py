"""Writes the small files of tests/datasets/parquet_test.ts with pyarrow 26.0.1 and DuckDB 2.0.1.

Usage: small_files.py FOLDER
"""

import datetime
import decimal
import pathlib
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(sys.argv[1])
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def write(name, columns, **options):
    pq.write_table(pa.table(columns), FOLDER / f"{name}.parquet", write_statistics=False, **options)


def decimals(*values, precision=38, scale=2):
    return pa.array([None if v is None else decimal.Decimal(v) for v in values], pa.decimal128(precision, scale))


query = pa.array(["a", "b"])
write(
    "nulls",
    {
        "query": query,
        "name": pa.array([None, "n"]),
        "tools": pa.array([None, ["t", None]], pa.list_(pa.string())),
        "none": pa.array([[], None], pa.list_(pa.int64())),
        "meta": pa.array([None, {"a": None, "b": []}], pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int64()))])),
        "map": pa.array([None, [("__proto__", None), ("k", 1)]], pa.map_(pa.string(), pa.int64())),
        "empty": pa.nulls(2),
    },
)
write(
    "numbers",
    {
        "query": query,
        "answer": decimals("12345678901234567890.12", "0.30"),
        "d38": decimals("9" * 38, "-" + "9" * 38, scale=0),
        "d36_2": decimals("-0.05", None),
        "list": pa.array([[decimal.Decimal("1234567890123456789.5")], []], pa.list_(pa.decimal128(30, 1))),
        "u64": pa.array([2**64 - 1, 1], pa.uint64()),
        "u32": pa.array([2**32 - 1, 1], pa.uint32()),
        "i64": pa.array([2**53 + 1, -(2**53) + 1], pa.int64()),
        "f16": pa.array([0.5, float("nan")], pa.float16()),
        "f64": pa.array([float("inf"), -0.25], pa.float64()),
    },
)
write(
    "times",
    {
        "query": query,
        "s": pa.array([0, -1], pa.int64()).cast(pa.timestamp("s")),
        "ms": pa.array([1_700_000_000_007, -1], pa.int64()).cast(pa.timestamp("ms")),
        "us": pa.array([1_700_000_000_123_456, -1], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        "ns": pa.array([1_700_000_000_123_456_789, 1_700_000_000_123_000_000], pa.int64()).cast(pa.timestamp("ns")),
        "last_ns": pa.array([2**63 - 1, None], pa.int64()).cast(pa.timestamp("ns")),
        "day": pa.array([datetime.date(2024, 2, 29), datetime.date(1, 1, 1)]),
        "time": pa.array([datetime.time(12, 30), datetime.time(23, 59, 59, 250_000)]),
    },
)
write(
    "bytes",
    {
        "query": query,
        "image": pa.array([{"bytes": b"\x89PNG\r\n\x1a\n\xff", "path": "a.png"}, {"bytes": None, "path": None}], IMAGE),
        "images": pa.array([[{"bytes": b"\xff\xd8", "path": None}], []], pa.list_(IMAGE)),
        "plain": pa.array(["text ä".encode(), b"\xe4"], pa.binary()),
        "hash": pa.array([b"abcd", b"\0\1\2\3"], pa.binary(4)),
        "mark": pa.array(["\ufeffbom", "\0"]),
    },
)
duckdb.sql(
    "SELECT * FROM (VALUES "
    "('a', INTERVAL '1 month 2 days 3.5 seconds', 'infinity'::TIMESTAMP, '-infinity'::DATE, '-infinity'::TIMESTAMPTZ, "
    "'12345678-1234-5678-1234-567812345678'::UUID, '{\"n\":[9007199254740993,null]}'::JSON), "
    "('b', INTERVAL 0 days, '2024-01-02 03:04:05.678901'::TIMESTAMP, '5877641-06-23'::DATE, NULL, NULL, NULL)"
    ") t(query, step, ts, day, tz, id, json)"
).write_parquet(str(FOLDER / "duckdb.parquet"), compression="zstd")

# Pages without values, which have 0 bytes before their compression.
write("lz4_null_column", {"query": query, "answer": pa.array([1, 2]), "note": pa.nulls(2, pa.string())}, compression="lz4")
write(
    "lz4_null_page",
    {"query": pa.array([f"q{i}" for i in range(40)]), "note": pa.array([None] * 30 + ["n"] * 10)},
    compression="lz4",
    use_dictionary=False,
    data_page_size=16,
    write_batch_size=10,
    data_page_version="2.0",
)
write("lz4_empty_lists", {"query": query, "tags": pa.array([[], None], pa.list_(pa.string()))}, compression="lz4", data_page_version="2.0")
write("lz4_no_rows", {"query": pa.array([], pa.string())}, compression="lz4")

# What only a broken or hostile writer makes.
write("not_utf8", {"query": pa.array([b"a", b"\xff", b"c"]).view(pa.string())})
write("not_json", {"query": query, "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{", "{}"]))})
write("proto", {"query": query, "meta": pa.array([{"__proto__": 1}, None], pa.struct([("__proto__", pa.int64())]))})
