#!/usr/bin/env bash
# hyparquet 1.31.5 (npm), pyarrow 26.0.1 (PyPI).
#
# Guess: a Parquet decimal of few digits, such as the price 19.99, is read as the double that the literal 19.99
# is, or as a text; one that does not fit into a double is a bigint or a text.
# Seen: the value is the unscaled integer times a power of ten that is rounded itself, so that short decimals are
# other doubles than their literals: 19.99 is 19.990000000000002, and 1,327 of the 10,000 prices below 100 differ.
# A decimal of 22 digits loses its last ones. There is no warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyarrow==26.0.1
npm install --silent --no-audit --no-fund --prefix . hyparquet@1.31.5 >/dev/null
venv/bin/python - <<'PYTHON'
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

prices = [Decimal(f"{cents // 100}.{cents % 100:02}") for cents in range(10_000)]
table = {
    "price": pa.array(prices, pa.decimal128(6, 2)),
    "long": pa.array([Decimal("12345678901234567890.12")] * len(prices), pa.decimal128(38, 2)),
}
pq.write_table(pa.table(table), "decimals.parquet")
PYTHON
cat > read.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import { parquetReadObjects } from "hyparquet";
const bytes = readFileSync("decimals.parquet");
const rows = await parquetReadObjects({
  file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength),
});
const wrong = rows.filter(({ price }, cents) => price !== Number(`${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`));
console.log(rows[1999], wrong.length, "of", rows.length, "prices differ from their literals");
if (rows[1999].price !== 19.990000000000002 || wrong.length < 100) process.exit(1);
if (rows[0].long !== 12345678901234567890.12) process.exit(1);
JAVASCRIPT
node read.mjs
