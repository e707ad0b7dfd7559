#!/usr/bin/env bash
# DuckDB 2.0.1 and pyarrow 26.0.1 (PyPI), hyparquet 1.31.5 (npm).
#
# Guess: DuckDB's 'infinity' of a timestamp becomes a null or an error in a Parquet file, as the format has no
# infinite time; or a reader can tell the value from a real time.
# Seen: DuckDB writes the largest 64-bit integer, and reads it back as infinity. In a column of nanoseconds that
# integer is a valid time, so that other readers give a date without any sign: 2262-04-11T23:47:16.854775807.
# In a column of microseconds the same integer is no valid time (hyparquet: Invalid Date), and the negative
# infinity is -9223372036854775807, one more than the smallest integer.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check duckdb==2.0.1 pyarrow==26.0.1
npm install --silent --no-audit --no-fund --prefix . hyparquet@1.31.5 >/dev/null
venv/bin/python - <<'PYTHON'
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

connection = duckdb.connect()
connection.execute(
    "copy (select 'infinity'::timestamp_ns as ns, 'infinity'::timestamp as us, '-infinity'::timestamp as low)"
    " to 'times.parquet' (format parquet)"
)
table = pq.read_table("times.parquet")
numbers = [table[name].cast(pa.int64())[0].as_py() for name in ("ns", "us", "low")]
nanoseconds = str(table["ns"].cast(pa.string())[0])
again = connection.execute("select ns::varchar, us::varchar, low::varchar from 'times.parquet'").fetchone()
print(numbers, nanoseconds, again)
assert numbers == [2**63 - 1, 2**63 - 1, -(2**63 - 1)], numbers
assert nanoseconds.startswith("2262-04-11 23:47:16.854775807"), nanoseconds
assert again == ("infinity", "infinity", "-infinity"), again
PYTHON
cat > read.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import { parquetReadObjects } from "hyparquet";
const bytes = readFileSync("times.parquet");
const [row] = await parquetReadObjects({
  file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength),
});
console.log(row);
if (row.ns.toISOString() !== "2262-04-11T23:47:16.854Z" || !Number.isNaN(row.us.getTime())) process.exit(1);
JAVASCRIPT
node read.mjs
