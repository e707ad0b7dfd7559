"""Writes strftime_glibc.json: what `time.strftime` returns on Linux with glibc. Run with CPython and TZ=UTC."""

import json
import pathlib
import platform
import string
import time

PREFIXES = ["", "-", "_", "0", "^", "#", "^#", "+", ":", "E", "O", "#E", "5", "05", "_5", "-5", "^12", "3E", "0_3"]
LETTERS = string.ascii_letters + "%+"
TIMES = [
    (2024, 1, 5, 15, 7, 9, 4, 5, 0),
    (2023, 12, 31, 0, 0, 0, 6, 365, -1),
    (999, 11, 30, 12, 59, 61, 5, 334, 0),
    (-150, 12, 31, 11, 0, 0, 0, 366, 0),
    (12345, 2, 29, 23, 1, 1, 3, 60, 0),
    (2021, 1, 1, 1, 2, 3, 4, 1, 0, "XYZ", -5400),
    (2018, 7, 9, 8, 0, 59, 0, 190, -1, "", 3600),
]
TEXTS = ["", "%", "%%", "100%", "%Y %", "%5", "%_5", "%E", "%EO", "%-", "%^é", "%5é", "%3000d", "%1100d", "%99999999999d", "%\n"]


def text_of(format, fields):
    return time.strftime(format, fields if len(fields) == 9 else time.struct_time(fields))


rows = [
    {"time": fields, "texts": {prefix: "|".join(text_of(f"%{prefix}{letter}", fields) for letter in LETTERS) for prefix in PREFIXES}}
    for fields in TIMES
]
table = {
    "source": f"CPython {platform.python_version()}, {' '.join(platform.libc_ver())}",
    "letters": LETTERS,
    "rows": rows,
    "formats": {format: text_of(format, TIMES[0]) for format in TEXTS},
}
file = pathlib.Path(__file__).with_suffix(".json")
file.write_text(json.dumps(table, ensure_ascii=False, indent=1) + "\n")
