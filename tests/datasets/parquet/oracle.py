"""Writes Parquet files of all types, and beside each its rows as JSON, as pyarrow or DuckDB reads them.

The rows have the form that docs/library.md describes. Usage: oracle.py FOLDER
"""

import base64
import datetime
import decimal
import itertools
import json
import math
import pathlib
import random
import sys
import uuid

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(sys.argv[1])
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
ROWS = 40


def timestamp(count, unit):
    """The ISO text of a count since 1970, by way of datetime where its years suffice."""
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    seconds, rest = divmod(count, per_second)
    digits = f"{rest * (10**9 // per_second):09}"
    while len(digits) > 3 and digits.endswith("000"):
        digits = digits[:-3]
    return (EPOCH + datetime.timedelta(seconds=seconds)).strftime("%4Y-%m-%dT%H:%M:%S") + f".{digits}Z"


def data(value, kind):
    """The JSON form of a value that pyarrow returns."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key_text(data(k, kind.key_type)): data(v, kind.item_type) for k, v in value}
    if pa.types.is_struct(kind):
        return {field.name: data(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [data(item, kind.value_type) for item in value]
    if pa.types.is_dictionary(kind):
        return data(value, kind.value_type)
    if pa.types.is_timestamp(kind):
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, datetime.datetime):
        raise TypeError("timestamps are compared as counts")
    if isinstance(value, datetime.date):
        return f"{value.year:04}-{value.month:02}-{value.day:02}T00:00:00.000Z"
    if isinstance(value, datetime.time):
        text = value.isoformat()
        return text.rstrip("0") if "." in text else text
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if isinstance(value, decimal.Decimal):
        return decimal_data(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bytes):
        if not pa.types.is_fixed_size_binary(kind):
            try:
                return value.decode()
            except UnicodeDecodeError:
                pass
        return {"base64": base64.b64encode(value).decode()}
    return value


def key_text(key):
    return key if isinstance(key, str) else json.dumps(key)


def decimal_data(value):
    text = format(value, "f")
    number = float(text)
    same = decimal.Decimal(repr(number)) == value
    if not same:
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


class Values:
    """Makes values of a type; the first ones are its limits."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def column(self, kind, nulls, count=ROWS):
        edges = self.edges(kind)
        values = [edges[i] if i < len(edges) else self.value(kind) for i in range(count)]
        if nulls == "all":
            return [None] * count
        if nulls == "some":
            return [None if self.random.random() < 0.3 else value for value in values]
        return values

    def edges(self, kind):
        if pa.types.is_integer(kind):
            bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            return [v for v in (low, high, 0, 1, 2**53, 2**53 + 1, -(2**53) - 1) if low <= v <= high]
        if pa.types.is_floating(kind):
            return [0.0, -0.0, math.nan, math.inf, -math.inf, 0.5, 65504.0, 2.0**-14]
        if pa.types.is_decimal(kind):
            nines = "9" * (kind.precision - kind.scale) + ("." + "9" * kind.scale if kind.scale else "")
            return [decimal.Decimal(v) for v in (nines or "0", "-" + (nines or "0"), "0")]
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return ["", "ä", "\ufeffx", "𝄞", "\0", "a" * 3000]
        if pa.types.is_binary(kind):
            return [b"", b"plain", b"\x89PNG\r\n\x1a\n\x00", b"\xff", "ü".encode(), bytes(range(256))]
        if pa.types.is_timestamp(kind):
            per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
            return [0, -1, 1, 951782400 * per_second, -(2208988800 * per_second), 1700000000 * per_second + 7 % per_second]
        if pa.types.is_date(kind):
            return [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1969, 12, 31)]
        if pa.types.is_list(kind):
            return [[], [None], [self.value(kind.value_type), None], None]
        if pa.types.is_struct(kind):
            return [{field.name: None for field in kind}]
        if pa.types.is_map(kind):
            return [[]]
        return []

    def value(self, kind):
        r = self.random
        if pa.types.is_dictionary(kind):
            return self.value(kind.value_type)
        if pa.types.is_boolean(kind):
            return r.random() < 0.5
        if pa.types.is_integer(kind):
            top = 2 ** (kind.bit_width - (1 if pa.types.is_signed_integer(kind) else 0))
            return r.choice([r.randrange(top), r.randrange(min(top, 100))])
        if pa.types.is_float16(kind):
            return r.randrange(-2048, 2048) / 8
        if pa.types.is_float32(kind):
            return r.randrange(-(10**6), 10**6) / 64
        if pa.types.is_float64(kind):
            return r.uniform(-1e6, 1e6)
        if pa.types.is_decimal(kind):
            digits = r.randrange(1, kind.precision + 1)
            return decimal.Decimal(r.randrange(-(10**digits) + 1, 10**digits)).scaleb(-kind.scale)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return "".join(r.choice("abcäé東 ") for _ in range(r.randrange(12)))
        if pa.types.is_fixed_size_binary(kind):
            return r.randbytes(kind.byte_width)
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return r.randbytes(r.randrange(20))
        if pa.types.is_timestamp(kind):
            per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
            return r.randrange(-(9 * 10**9) * per_second, (9 * 10**9) * per_second)
        if pa.types.is_date(kind):
            return datetime.date.fromordinal(r.randrange(1, 3_652_059))
        if pa.types.is_time(kind):
            micros = r.randrange(86_400_000_000)
            micros -= micros % (1 if pa.types.is_time64(kind) else 1000)
            return (datetime.datetime.min + datetime.timedelta(microseconds=micros)).time()
        if pa.types.is_fixed_size_list(kind):
            return [self.value(kind.value_type) for _ in range(kind.list_size)]
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return self.column(kind.value_type, "some", r.randrange(4))[::-1]
        if pa.types.is_struct(kind):
            return {field.name: self.nullable(field.type) for field in kind}
        if pa.types.is_map(kind):
            keys = {key_text(data(key, kind.key_type)): key for key in (self.value(kind.key_type) for _ in range(r.randrange(4)))}
            return [(key, self.nullable(kind.item_type)) for key in keys.values()]
        raise TypeError(f"no values of {kind}")

    def nullable(self, kind):
        return None if self.random.random() < 0.3 else self.value(kind)


FLAT = {
    "bool": pa.bool_(),
    **{str(t): t for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    **{str(t): t for t in (pa.float16(), pa.float32(), pa.float64())},
    **{f"decimal{p}_{s}": pa.decimal128(p, s) for p, s in ((4, 2), (9, 0), (18, 6), (18, 18), (20, 2), (38, 0), (38, 10), (38, 38))},
    "decimal256_76_20": pa.decimal256(76, 20),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "binary": pa.binary(),
    "fixed16": pa.binary(16),
    "fixed3": pa.binary(3),
    "date32": pa.date32(),
    "time32": pa.time32("ms"),
    "time64_us": pa.time64("us"),
    **{f"timestamp_{u}": pa.timestamp(u) for u in ("s", "ms", "us", "ns")},
    "timestamp_utc": pa.timestamp("us", tz="UTC"),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
NESTED = {
    "list_int": pa.list_(pa.int64()),
    "list_string": pa.list_(pa.string()),
    "large_list": pa.large_list(pa.decimal128(38, 3)),
    "list_list": pa.list_(pa.list_(pa.int32())),
    "list_list_list": pa.list_(pa.list_(pa.list_(pa.string()))),
    "struct": pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.decimal128(38, 2))]),
    "struct_struct": pa.struct([("a", pa.struct([("b", pa.struct([("c", pa.int64())]))])), ("d", pa.binary())]),
    "struct_list": pa.struct([("a", pa.list_(pa.int64())), ("b", pa.map_(pa.string(), pa.int64()))]),
    "list_struct": pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())])),
    "list_struct_list": pa.list_(pa.struct([("n", pa.list_(pa.int32())), ("s", pa.struct([("x", pa.float64())]))])),
    "map_string_int": pa.map_(pa.string(), pa.int64()),
    "map_int_string": pa.map_(pa.int64(), pa.string()),
    "map_decimal": pa.map_(pa.decimal128(30, 2), pa.decimal128(30, 2)),
    "map_struct": pa.map_(pa.string(), pa.struct([("a", pa.int64())])),
    "map_list": pa.map_(pa.string(), pa.list_(pa.int64())),
    "list_map": pa.list_(pa.map_(pa.string(), pa.int64())),
    "map_map": pa.map_(pa.string(), pa.map_(pa.string(), pa.int64())),
    "image": IMAGE,
    "images": pa.list_(IMAGE),
}

COMPRESSIONS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
ENCODINGS = {
    "INT32": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
    "INT64": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
    "FLOAT": ["BYTE_STREAM_SPLIT"],
    "DOUBLE": ["BYTE_STREAM_SPLIT"],
    "BYTE_ARRAY": ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
    "FIXED_LEN_BYTE_ARRAY": ["BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"],
    "BOOLEAN": ["RLE"],
}


def build(kind, values):
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


def expected(kind, values):
    if pa.types.is_timestamp(kind):
        return [None if v is None else timestamp(v, kind.unit) for v in values]
    read = build(kind, values).to_pylist()
    return [data(value, kind) for value in read]


def write(name, columns, rows, **options):
    table = pa.table(columns) if isinstance(columns, dict) else columns
    pq.write_table(table, FOLDER / f"{name}.parquet", **options)
    (FOLDER / f"{name}.json").write_text(json.dumps(rows))


def physical_types(array, **options):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"v": array}), sink, **options)
    schema = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return {schema.column(i).physical_type for i in range(len(schema.names))}, [schema.column(i).path for i in range(len(schema.names))]


def matrix():
    """Every type with every compression, page version and kind of nulls, and every encoding."""
    seeds = itertools.count()
    for name, kind in {**FLAT, **NESTED}.items():
        for nulls in ("none", "some", "all"):
            values = Values(next(seeds)).column(kind, nulls)
            array = build(kind, values)
            rows = [{"v": value} for value in expected(kind, values)]
            for compression, version, dictionary in itertools.product(COMPRESSIONS, ("1.0", "2.0"), (True, False)):
                write(
                    f"{name}-{nulls}-{compression}-{version[0]}-{'dict' if dictionary else 'plain'}",
                    {"v": array},
                    rows,
                    compression=compression,
                    data_page_version=version,
                    use_dictionary=dictionary,
                    data_page_size=256,
                    row_group_size=25,
                    write_page_index=dictionary,
                )
            types, paths = physical_types(array)
            for encoding in ENCODINGS.get(types.pop(), []) if len(types) == 1 and name in FLAT else []:
                write(
                    f"{name}-{nulls}-{encoding}",
                    {"v": array},
                    rows,
                    use_dictionary=False,
                    column_encoding={path: encoding for path in paths},
                )
    # What depends on options of the writer.
    values = [decimal.Decimal(v) for v in ("123.45", "-0.01", "0.30", "9999999.99")]
    array = pa.array(values, pa.decimal128(9, 2))
    write("decimal_int32", {"v": array}, [{"v": decimal_data(v)} for v in values], store_decimal_as_integer=True)
    values = [decimal.Decimal(v) for v in ("1234567890123456.78", "-0.01", "9999999999999999.99")]
    array = pa.array(values, pa.decimal128(18, 2))
    write("decimal_int64", {"v": array}, [{"v": decimal_data(v)} for v in values], store_decimal_as_integer=True)
    counts = [0, -1, 1700000000123456789, None]
    write(
        "int96",
        {"v": build(pa.timestamp("ns"), counts)},
        [{"v": None if c is None else timestamp(c, "ns")} for c in counts],
        use_deprecated_int96_timestamps=True,
    )
    values = [uuid.UUID(int=7), uuid.UUID("12345678-1234-5678-1234-567812345678"), None]
    storage = pa.array([None if v is None else v.bytes for v in values], pa.binary(16))
    array = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    write("uuid", {"v": array}, [{"v": None if v is None else str(v)} for v in values])
    values = ['{"a":[1,12345678901234567890,null]}', "3", '"x"', None]
    array = pa.ExtensionArray.from_storage(pa.json_(), pa.array(values, pa.string()))
    rows = [{"a": [1, "12345678901234567890", None]}, 3, "x", None]
    write("json", {"v": array}, [{"v": row} for row in rows])
    write("null_type", {"v": pa.nulls(3), "w": pa.array([1, 2, 3])}, [{"v": None, "w": i} for i in (1, 2, 3)])
    for name, schema in {"not_null": [pa.field("v", pa.list_(pa.field("item", pa.int64(), False)), False)]}.items():
        table = pa.table([[[1, 2], [], [3]]], schema=pa.schema(schema))
        write(name, table, [{"v": [1, 2]}, {"v": []}, {"v": [3]}])
    deep = pa.struct([("x", pa.list_(pa.struct([("y", pa.map_(pa.string(), pa.list_(pa.struct([("z", pa.int64())]))))])))])
    values = Values(77).column(deep, "some")
    write("deep", {"v": pa.array(values, deep)}, [{"v": data(v, deep)} for v in pa.array(values, deep).to_pylist()])


DUCKDB = {
    "interval": (
        "SELECT * FROM (VALUES (INTERVAL '1 month 2 days 3.5 seconds'), (INTERVAL '0 days'), (NULL), "
        "(INTERVAL '14 months'), (INTERVAL '36 hours')) t(v)",
        ["P1M2DT3.5S", "PT0S", None, "P14M", "PT129600S"],
    ),
    "infinity": (
        "SELECT * FROM (VALUES ('infinity'::TIMESTAMP), ('-infinity'::TIMESTAMP), (NULL), "
        "('2024-01-02 03:04:05.678901'::TIMESTAMP)) t(v)",
        ["infinity", "-infinity", None, "2024-01-02T03:04:05.678901Z"],
    ),
    "infinity_tz": (
        "SELECT * FROM (VALUES ('infinity'::TIMESTAMPTZ), ('-infinity'::TIMESTAMPTZ)) t(v)",
        ["infinity", "-infinity"],
    ),
    "infinity_date": (
        "SELECT * FROM (VALUES ('infinity'::DATE), ('-infinity'::DATE), ('2024-02-29'::DATE), "
        "('5877641-06-23'::DATE), ('0044-03-15 (BC)'::DATE)) t(v)",
        ["infinity", "-infinity", "2024-02-29T00:00:00.000Z", "+5877641-06-23T00:00:00.000Z", "-000043-03-15T00:00:00.000Z"],
    ),
    "decimal": ("SELECT 99999999999999999999999999999999999999::DECIMAL(38,0) AS v", [str(10**38 - 1)]),
    "uuid": ("SELECT '12345678-1234-5678-1234-567812345678'::UUID AS v", ["12345678-1234-5678-1234-567812345678"]),
    "enum": ("SELECT 'b'::ENUM('a','b') AS v", ["b"]),
    "json": ("SELECT '{\"n\":9007199254740993}'::JSON AS v", [{"n": "9007199254740993"}]),
    "blob": ("SELECT '\\xAA\\xBB'::BLOB AS v UNION ALL SELECT 'text'::BLOB", [{"base64": "qrs="}, "text"]),
    "time": ("SELECT '12:34:56.5'::TIME AS v", ["12:34:56.5"]),
    "map": ("SELECT MAP {'a': 1, '__proto__': NULL} AS v", [{"a": 1, "__proto__": None}]),
    "struct": ("SELECT {'a': NULL::INTEGER, 'b': [1, NULL]} AS v", [{"a": None, "b": [1, None]}]),
    "ubigint": ("SELECT 18446744073709551615::UBIGINT AS v", ["18446744073709551615"]),
}


def duck():
    connection = duckdb.connect()
    for name, (query, values) in DUCKDB.items():
        for compression in ("uncompressed", "snappy", "zstd", "gzip", "brotli", "lz4_raw"):
            for version in ("V1", "V2"):
                path = FOLDER / f"duckdb-{name}-{compression}-{version}.parquet"
                options = f"FORMAT parquet, COMPRESSION {compression}, PARQUET_VERSION {version}"
                connection.execute(f"COPY ({query}) TO '{path}' ({options})")
                path.with_suffix(".json").write_text(json.dumps([{"v": v} for v in values]))


if __name__ == "__main__":
    matrix()
    duck()
