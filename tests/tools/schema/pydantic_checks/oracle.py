"""Prints a table of generated JSON Schemas and values, with the verdicts of Python's re, pydantic and jsonschema.

The table has lists of values by name, and rows. Each row is a JSON object: `kind`, `schema`, `values` (a list, or the
name of one), and for each judge a text with one digit for each value, 1 where
the judge accepts it, or null where the judge refuses the schema. The first argument is the seed, the second the number
of generated patterns and schemas. `tests/data/json_schema/verdicts.json` is the table of `oracle.py 1 0`.
"""

from __future__ import annotations

import json
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID

import jsonschema
from pydantic import AnyUrl, BaseModel, EmailStr, Field, TypeAdapter, ValidationError, conlist

warnings.simplefilter("ignore")
Row = dict[str, Any]

PATTERNS = [
    r"^\d{3}\-\d{4}$", r"(?i)^abc$", r"^[\w-.]+$", r"^\d+$", r"\Aab\Z", r"\Aab\z", r"^(?P<a>\w)(?P=a)$", r"(?P<y>\d{4})-(?P<m>\d\d)",
    r"^\w+@\w+\.\w+$", r"^[^\W\d_]+$", r"^[^\W]+$", r"[\W_]", r"^[]a]+$", r"^[^]a]+$", r"x{,3}y", r"^a{2}$", r"^a{2,}$", r"^{a}$",
    r"(?x) ^ a b # comment", r"(?s)^a.b$", r"^a.b$", r"(?m)^b$", r"(?im)^B$", r"^(?i:a)b$", r"a(?#comment)b", r"^\x41\u0042$",
    r"^\-\_\/\@\#\%\&\!\~\=\:\;\,\<\>$", r"^[\-\_\/\@]+$", r"^\.\*\+\?\(\)\[\]\{\}\|\^\$\\$", r"\bab\b", r"\Bb", r"^\s*$", r"^\S+$", r"[\s]",
    r"^\D+$", r"^[\D]+$", r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$", r"^(?:\+\d{1,3}[- ]?)?\d{10}$", r"^#(?:[0-9a-fA-F]{3}){1,2}$",
    r"^[A-Z]{2}[0-9]{2}[a-zA-Z0-9]{4}$", r"^(?=.*[A-Z])(?=.*\d).{3,}$", r"(?<=a)b", r"(?<!a)b", r"^(a+)+$", r"^(?>a+)b", r"^a++b$",
    r"^(a)?(?(1)b|c)$", r"^\N{DIGIT ONE}$", r"^[[:alpha:]]+$", r"^\p{L}+$", r"^\p{Greek}+$", r"^\pL$", r"^[\p{Lu}a-z]+$", r"^[a-z&&[^b]]+$",
    r"^\x{41}$", r"^(?<n>a)\1$", r"^(a)\1$", r"^[a-]+$", r"^[-a]+$", r"^[\d-x]+$", r"^[a\-z]+$", r"^[+--]+$", r"^[\x00-\x1f]$", r"^\012$", r"^\0$",
    r"^[\b]$", r"^\t$", r"^\a$", r"^(?-i:a)$", r"^(?u)a", r"(?a)^\w+$", r"(?a)^\d$", r"^$", r"", r"a|", r"|b", r"^(|a)$", r"^()$", r"^]$", r"^}$", r"^a{,}$",
    r"^a{1,2}?$", r"^a*?b+?$", r"^(?:a|(?i)b)c$", r"^[.]$", r"^[$]$", r"^[\]]$", r"^[\^a]$", r"^[a^]$", r"^[\\]$", r"^[/]$", r"^/$", r"^\/$", r"^é+$", r"^[à-ý]+$", r"^😀$", r"^[😀-😂]$",
    r"^.$", r"^..$", r"^\U0001F600$", r"^[^\n]*$", r"^[^\S\n]+$", r"^\s$", r"^[\s\S]$", r"(?:)", r"^(?P<first-name>a)$", r"^\z", r"^a\Z$",
]  # fmt: skip
"""Patterns as people, pydantic and other languages write them."""

PIECES = [
    "a", "b", "B", "é", "1", "_", "-", " ", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b", r"\.", r"\-", "[a-c]", "[^a]", r"[\w-]", r"[^\W\d]", r"[\d.]", "(?:ab|c)", "(a)", "(?P<g>b)",
    "(?=a)", "(?!b)", "|", "^", "$", "(?i)", "(?i:a)", "[]b]", r"\x61", "\\u00e9", "{", "}", "]", r"\A", r"\Z", r"\/", "[é-ü]",
]  # fmt: skip
SUFFIXES = ["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{,2}", "*?", "+?"]
TEXTS = [
    "", "a", "b", "A", "B", "ab", "AB", "abc", "ABC", "aB", "aab", "aaab", "aa", "555-1234", "5551234", "5", "٣", "12-12", "2024-01", "é", "É", "über", "a-b", "a.b", "a b", "a\nb", "b\n", "a\n", "\n", " ", "\t", "\u00a0",
    "\u2028", "\x1c", "\x85", "\ufeff", "_", "-", ".", "a_1", "x@y.z", "+-.", "12.5", "-0.5", "1234567890", "+49 1234567890", "#fff", "#ffff", "AB12cd34", "Aa1", "bc", "ac", "c", "1", "ａ", "हिन्दी", "हि", "αβ", "😀", "😁", "😀😀", "ǅ",
    "{a}", "]", "[", "}", "{", "^", "$", "\\", "/", "|", "xxy", "xxxxy", "y", "ſ", "K", "ß", "a{,}", "\x00", "\x07", "\x08", "-_/@#%&!~=:;,<>", ".*+?()[]{}|^$\\", "à", "ý", "²", "Ⅷ", "a\u200db", "b]", "ab ab", "foo bar",
]  # fmt: skip

TIMES = ["10:00", "10:00:00", "10:00:00.5", "10:00:00,25", "10:00:00.123456789", "00:00", "00:00:00", "00:00:00.0", "23:59:59", "23:59:60", "24:00", "1:00", "10", "1000", "10:60", "10:00:61", "10:00.5", ""]  # fmt: skip
ZONES = ["", "Z", "z", "+00:00", "-05:30", "+0530", "+05", "+24:00", "+23:59", "−01:00", " Z", "+1:00", "+01:00:00", "+01:60"]
DATES = ["2024-01-01", "2024-02-29", "2023-02-29", "2024-1-1", "20240101", "2024-13-01", "2024-00-10", "2024-04-31", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "2024-001", "2024-W01-1", "24-01-01", "1900-02-29", "2000-02-29"]  # fmt: skip
SEPARATORS = ["T", "t", " ", "_", "  ", "-", ""]
NUMBERS = ["0", "1", "-1", "+1", "86400", "-86400", "86400.0", "86400.5", "1704067200", "1704067200000", "1e5", "1.", ".5", "-.5", "20000000000", "20000000001", "253402300799", "253402300800", "99999999999999999999", "inf", "nan", "-62135596800", "1_000", " 1", "1 ", "0x10"]  # fmt: skip
DURATIONS = [
    "PT0.5S", "P1DT2H", "-P1D", "+P1D", "P1W", "P1Y", "P1M", "P1Y2M3DT4H5M6S", "PT", "P", "PT1,5S", "P0.5D", "PT1H30M", "1 day", "1 days 02:00:00", "1d", "1d 02:00", "-1 day, 02:00:00", "02:00:00", "2:00", "26:00:00", "P1DT", "PT-5S",
    "P-1D", "p1d", "pt1s", "P1W2D", "P1.5W", "PT0.1234567S", "1 day 1 hour", "00:00:00.5", "PT1M1H", "P1D2H", "PT1H1.5M", "P1DT1.5H", "1D", "3 days, 04:05", "+1 day", "P1 D", "-PT1S", "PT1.S", "PT.5S", "P1000000000D", "P999999999D", "02:60:00", "02:00:60", "2:0:0",
    "100:00", "5 02:00", "PT36H", "P1D1D", "PT1S1S", "-02:00:00", "+02:00", "1 DAY", "1 Days", "1day", "1  day", "1 day  02:00", "1 day,02:00", "1 day 2:00", "1 day 24:00", "1 day 00:60", "1 day -02:00", "1.5 days", "−P1D", "P1DT0.5S", "PT1.5H", "P1.5Y",
]  # fmt: skip
UUIDS = ["12345678-1234-5678-1234-567812345678", "12345678123456781234567812345678", "{12345678-1234-5678-1234-567812345678}", "urn:uuid:12345678-1234-5678-1234-567812345678", "12345678-1234-5678-1234-56781234567", "ABCDEF12-1234-5678-1234-567812345678", "{12345678123456781234567812345678}", "urn:uuid:12345678123456781234567812345678", "URN:UUID:12345678-1234-5678-1234-567812345678", "1234-56781234567812345678123456-78", ""]  # fmt: skip


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: float
    y: float = 0


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(le=9)


class Dog(BaseModel):
    model_config = {"extra": "forbid"}
    kind: Literal["dog"]
    name: Annotated[str, Field(min_length=1, max_length=3)]


TYPES: list[Any] = [
    int, float, str, bool, None, Decimal, datetime, date, time, timedelta, UUID, AnyUrl, EmailStr, IPv4Address, IPv6Address, Colour, Point, Tree, Optional[int], Optional[datetime], Union[int, str], list[int], list[Point],
    dict[str, int], dict[str, list[float]], tuple[int, str], set[int], Literal["a", 1, None], Any, conlist(int, min_length=1, max_length=2),
    Annotated[int, Field(gt=0, le=10)], Annotated[float, Field(ge=-1.5, lt=2.5)], Annotated[float, Field(multiple_of=0.01)], Annotated[int, Field(multiple_of=7)], Annotated[Decimal, Field(max_digits=5, decimal_places=2)],
    Annotated[str, Field(min_length=2, max_length=4)], Annotated[Union[Cat, Dog], Field(discriminator="kind")], dict[Annotated[str, Field(pattern=r"^\w+\-\d$")], int], list[Annotated[str, Field(pattern=r"^[\w\-.]+$")]],
    Annotated[str, Field(pattern=r"(?i)^(yes|no)$")], Optional[Annotated[str, Field(pattern=r"\d{3}\-\d{4}")]], list[timedelta], dict[str, datetime],
]  # fmt: skip
VALUES: list[Any] = [
    0, 1, -1, 7, 10, 11, 1.0, 1.5, -1.5, 2.5, 19.99, 0.1, 0.07, 1e20, 123.45, 1234.567, 2**53 + 2, True, None, "", "a", "ab", "abcd", "abcde", "😀", "😀😀😀", "red", "green", "yes", "NO", "555-1234", "5551234", "x y", "a.b-c",
    "1.5", "-0.5", "12x", "2024-01-01T10:00:00", "2024-01-01", "10:00", "PT0.5S", "P1DT2H", "-P1D", "12345678-1234-5678-1234-567812345678", "12345678123456781234567812345678", "https://example.com/ü?q=1", "not a url", "a@b.co", "ü@example.com", "1.2.3.4", "256.1.1.1", "::1", "fe80::1%eth0",
    [], [1], [1, 2], [1, 2, 3], [1, "a"], [1, 1], ["a-b", "c.d"], ["a b"], ["PT1.5S", "-PT1S"], {}, {"x": 1}, {"x": 1.5, "y": 2}, {"x": "a"}, {"x": 1, "z": 2}, [{"x": 1}], {"a-1": 2}, {"a": 2}, {"a": [1, 2.5]}, {"a": "2024-01-01T10:00:00"},
    {"value": 1, "children": [{"value": 2, "children": []}]}, {"value": 1, "children": [{"valu": 2}]}, {"kind": "cat", "lives": 9}, {"kind": "cat", "lives": 10}, {"kind": "dog", "name": "Rex"}, {"kind": "dog", "name": "Rexy"}, {"kind": "dog", "name": "Rex", "age": 1}, {"kind": "cow"},
]  # fmt: skip


def accepts(adapter: TypeAdapter[Any], value: object) -> bool:
    try:
        adapter.validate_python(value)
    except (ValidationError, OverflowError):
        return False
    return True


def attempt(judge: Callable[[], list[bool]]) -> str | None:
    try:
        return digits(judge())
    except Exception:  # the judge refuses the schema
        return None


def digits(verdicts: list[bool]) -> str:
    return "".join(str(int(verdict)) for verdict in verdicts)


def of_pattern(pattern: str) -> Row:
    def by_re() -> list[bool]:
        compiled = re.compile(pattern)
        return [compiled.search(value) is not None for value in TEXTS]

    def by_pydantic() -> list[bool]:
        adapter = TypeAdapter(Annotated[str, Field(pattern=pattern)])
        return [accepts(adapter, value) for value in TEXTS]

    return {"kind": "pattern", "schema": {"type": "string", "pattern": pattern}, "values": "texts", "re": attempt(by_re), "pydantic": attempt(by_pydantic)}


def of_type(annotation: Any, values: list[Any], kind: Literal["format", "model"]) -> Row:
    adapter = TypeAdapter(annotation)
    schema = adapter.json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    return {
        "kind": kind,
        "schema": schema,
        "values": values if kind == "format" else "values",
        "pydantic": digits([accepts(adapter, value) for value in values]),
        "jsonschema": attempt(lambda: [validator.is_valid(value) for value in values]),
    }


def generated_schema(chance: random.Random, depth: int = 0) -> Any:
    number = lambda: chance.choice([-1, 0, 1, 2, 7, 1.5, 0.01, 10])  # noqa: E731
    inner = lambda: generated_schema(chance, depth + 1) if depth < 2 else {"type": chance.choice(["integer", "string"])}  # noqa: E731
    parts: list[Callable[[], Row]] = [
        lambda: {"type": chance.choice(["integer", "number", "string", "boolean", "null", "array", "object", ["string", "null"], ["integer", "array"]])},
        lambda: {"enum": chance.sample(VALUES, 4)},
        lambda: {"const": chance.choice(VALUES)},
        lambda: {chance.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]): number()},
        lambda: {"multipleOf": chance.choice([1, 2, 7, 0.5, 1.5])},
        lambda: {chance.choice(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]): chance.randint(0, 3)},
        lambda: {"uniqueItems": True},
        lambda: {"items": inner()},
        lambda: {"prefixItems": [inner(), inner()], "items": chance.choice([False, inner()])},
        lambda: {"contains": inner()},
        lambda: {"properties": {"x": inner(), "kind": inner()}, "required": chance.sample(["x", "kind", "a"], 1)},
        lambda: {"additionalProperties": chance.choice([False, inner()])},
        lambda: {"patternProperties": {chance.choice(["^a", r"^\w\-1$", "(?i)^X$"]): inner()}},
        lambda: {"propertyNames": {"pattern": chance.choice(["^[a-z]$", r"^\w+$"])}},
        lambda: {chance.choice(["anyOf", "oneOf", "allOf"]): [inner(), inner()]},
        lambda: {"not": inner()},
        lambda: {"if": inner(), "then": inner(), "else": inner()},
    ]  # fmt: skip
    schema: Row = {}
    for part in chance.sample(parts, chance.randint(1, 3)):
        schema |= part()
    return schema


def of_schema(schema: Row) -> Row:
    validator = jsonschema.Draft202012Validator(schema)
    return {"kind": "schema", "schema": schema, "values": "values", "jsonschema": attempt(lambda: [validator.is_valid(value) for value in VALUES])}


def rows(seed: int, count: int) -> Iterator[Row]:
    chance = random.Random(seed)
    yield from map(of_pattern, PATTERNS)
    for _ in range(count):
        yield of_pattern("".join(chance.choice(PIECES) + chance.choice(SUFFIXES) for _ in range(chance.randint(1, 5))))
    moments = [day + separator + clock + zone for day in DATES for separator in SEPARATORS for clock in TIMES for zone in ZONES]
    times = [clock + zone for clock in TIMES for zone in ZONES]
    for annotation, values in {datetime: moments, date: moments, time: times, timedelta: DURATIONS, UUID: UUIDS}.items():
        texts = values if len(values) <= max(count, 150) else chance.sample(values, max(count, 150))
        yield of_type(annotation, [*texts, *DATES, *NUMBERS], "format")
    for annotation in TYPES:
        yield of_type(annotation, VALUES, "model")
    for _ in range(count):
        yield of_schema(generated_schema(chance))


def main() -> None:
    seed, count = map(int, sys.argv[1:])
    lists = f'"texts": {json.dumps(TEXTS)}, "values": {json.dumps(VALUES)}'
    print("{" + lists + ', "rows": [\n' + ",\n".join(map(json.dumps, rows(seed, count))) + "\n]}")


main()
