"""Prints what functions of the standard library that are written in C return for large sizes, as lines of JSON.

Run with CPython on a 64-bit machine, it writes sizes.jsonl. A sandbox runs it too, and a test compares the two.
"""

import array
import bisect
import bz2
import collections
import csv
import decimal
import functools
import heapq
import io
import itertools
import json
import lzma
import math
import mmap
import operator
import random
import re
import string
import struct
import sys
import textwrap
import zlib

SIZES = (2**31 - 1, 2**31, 2**32 + 1, 10**12, 2**63 - 2, sys.maxsize, 2**63, 2**64, -(2**31) - 1, -(10**12), -sys.maxsize)


class Sized:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __length_hint__(self):
        return self.size

    def __hash__(self):
        return self.size

    def __index__(self):
        return self.size


def rotated(items, n):
    rotating = collections.deque(items)
    rotating.rotate(n)
    return list(rotating)


def inserted(items, n):
    items.insert(n, 7)
    return list(items)


def sought(file, n):
    file.seek(n)
    return file.tell()


def limited(n):
    old = csv.field_size_limit(n)
    return csv.field_size_limit(old)


def counted(n):
    return list(zip(itertools.count(n), "abc"))


CASES = {
    # limits
    "islice stop": lambda n: list(itertools.islice("abc", n)),
    "islice start": lambda n: list(itertools.islice("abc", n, None)),
    "islice step": lambda n: list(itertools.islice("abc", 0, None, n)),
    "islice all": lambda n: list(itertools.islice("abc", 1, n, 2)),
    "repeat": lambda n: list(itertools.islice(itertools.repeat(1, n), 2)),
    "deque maxlen": lambda n: collections.deque("abc", n).append(1),
    "deque maxlen value": lambda n: collections.deque("abc", n).maxlen,
    "deque insert": lambda n: inserted(collections.deque([1, 2]), n),
    "deque index": lambda n: collections.deque([1, 2]).index(2, 0, n),
    "deque item": lambda n: collections.deque([1, 2])[n],
    "list insert": lambda n: inserted([1, 2], n),
    "list pop": lambda n: [1, 2].pop(n),
    "list index": lambda n: [1, 2].index(2, 0, n),
    "list index from": lambda n: [1, 2].index(2, n),
    "list item": lambda n: [1, 2][n],
    "list slice": lambda n: [1, 2, 3][1:n],
    "list slice from": lambda n: [1, 2, 3][n:],
    "list slice step": lambda n: [1, 2, 3][::n],
    "list times none": lambda n: [] * n,
    "list times": lambda n: [1] * n if n > 10**10 or n < 0 else None,
    "tuple index": lambda n: (1, 2).index(2, 0, n),
    "tuple times": lambda n: () * n,
    "str item": lambda n: "ab"[n],
    "str slice": lambda n: "abc"[-n:n],
    "str times": lambda n: "" * n,
    "str split": lambda n: "a b c".split(None, n),
    "str split by": lambda n: "a,b,c".split(",", n),
    "str rsplit": lambda n: "a b c".rsplit(None, n),
    "str replace": lambda n: "aaa".replace("a", "b", n),
    "str count": lambda n: "aaa".count("a", 0, n),
    "str find": lambda n: "abc".find("c", 0, n),
    "str find from": lambda n: "abc".find("c", n),
    "str index": lambda n: "abc".index("c", -n, n),
    "str startswith": lambda n: "abc".startswith("a", 0, n),
    "str endswith": lambda n: "abc".endswith("c", 0, n),
    "bytes item": lambda n: b"ab"[n],
    "bytes slice": lambda n: b"abc"[:n],
    "bytes split": lambda n: b"a b".split(b" ", n),
    "bytes rsplit": lambda n: b"a b".rsplit(b" ", n),
    "bytes replace": lambda n: b"aa".replace(b"a", b"b", n),
    "bytes find": lambda n: b"abc".find(b"c", 0, n),
    "bytes count": lambda n: b"abc".count(b"c", 0, n),
    "bytearray insert": lambda n: inserted(bytearray(b"ab"), n),
    "bytearray pop": lambda n: bytearray(b"ab").pop(n),
    "bytearray split": lambda n: bytearray(b"a b").split(b" ", n),
    "memoryview": lambda n: bytes(memoryview(b"abc")[0:n]),
    "memoryview item": lambda n: memoryview(b"abc")[n],
    "array insert": lambda n: inserted(array.array("i", [1, 2]), n),
    "array pop": lambda n: array.array("i", [1, 2]).pop(n),
    "array index": lambda n: array.array("i", [1, 2]).index(2, 0, n),
    "array slice": lambda n: array.array("i", [1, 2])[:n],
    "array value": lambda n: array.array("q", [n])[0],
    "range item": lambda n: range(5)[n],
    "range slice": lambda n: range(5)[1:n],
    "slice indices": lambda n: slice(None, n).indices(5),
    "slice indices of": lambda n: slice(1, None, 2).indices(n),
    "re sub": lambda n: re.sub("a", "b", "aaa", count=n),
    "re subn": lambda n: re.subn("a", "b", "aaa", count=n),
    "re split": lambda n: re.split(",", "a,b,c", maxsplit=n),
    "re match": lambda n: bool(re.compile("a").match("a", 0, n)),
    "re match from": lambda n: bool(re.compile("a").match("a", n)),
    "re search": lambda n: bool(re.compile("b").search("ab", 0, n)),
    "re fullmatch": lambda n: bool(re.compile("a").fullmatch("a", 0, n)),
    "re findall": lambda n: re.compile("a").findall("aa", 0, n),
    "re finditer": lambda n: len(list(re.compile("a").finditer("aa", 0, n))),
    "re group": lambda n: re.match("a", "a").group(n),
    "text read": lambda n: io.StringIO("ab\nc").read(n),
    "text readline": lambda n: io.StringIO("ab\nc").readline(n),
    "text readlines": lambda n: io.StringIO("ab\nc").readlines(n),
    "bytes read": lambda n: io.BytesIO(b"ab\nc").read(n),
    "bytes read1": lambda n: io.BytesIO(b"ab\nc").read1(n),
    "bytes readline": lambda n: io.BytesIO(b"ab\nc").readline(n),
    "bytes readlines": lambda n: io.BytesIO(b"ab\nc").readlines(n),
    "wrapper read": lambda n: io.TextIOWrapper(io.BytesIO(b"ab\nc")).read(n),
    "wrapper readline": lambda n: io.TextIOWrapper(io.BytesIO(b"ab\nc")).readline(n),
    "zlib": lambda n: zlib.decompressobj().decompress(zlib.compress(b"a"), n),
    "bz2": lambda n: bz2.BZ2Decompressor().decompress(bz2.compress(b"a"), n),
    "lzma": lambda n: lzma.LZMADecompressor().decompress(lzma.compress(b"a"), n),
    "lru_cache": lambda n: functools.lru_cache(maxsize=n)(abs)(-1),
    "lru_cache info": lambda n: functools.lru_cache(maxsize=n)(abs).cache_info(),
    "csv": limited,
    "most_common": lambda n: collections.Counter("aab").most_common(n),
    "nsmallest": lambda n: heapq.nsmallest(n, [3, 1, 2]),
    "wrap": lambda n: textwrap.wrap("a b", n) if n > 0 else None,
    "itemgetter": lambda n: operator.itemgetter(n)({n: 5}),
    "itemgetter of list": lambda n: operator.itemgetter(n)([1]),
    # values
    "rotate": lambda n: rotated([1, 2, 3, 4, 5, 6, 7], n),
    "rotate none": lambda n: rotated([], n),
    "count": counted,
    "count repr": lambda n: repr(itertools.count(n)),
    "count step": lambda n: list(zip(itertools.count(0, n), "abc")),
    "enumerate": lambda n: list(enumerate("abc", n)),
    "len of range": lambda n: len(range(n)),
    "len": lambda n: len(Sized(n)),
    "bool": lambda n: bool(Sized(n)),
    "length_hint": lambda n: operator.length_hint(Sized(n)),
    "length_hint default": lambda n: operator.length_hint(object(), n),
    "hash": lambda n: len({Sized(n): 1, Sized(n - 1): 2, Sized(n // 2): 3}),
    "index": lambda n: operator.index(Sized(n)),
    "index of list": lambda n: [1, 2][Sized(n)],
    "seek bytes": lambda n: sought(io.BytesIO(b"abc"), n),
    "seek text": lambda n: sought(io.StringIO("abc"), n),
    "struct n": lambda n: struct.unpack("n", struct.pack("n", n))[0],
    "struct q": lambda n: struct.unpack("q", struct.pack("q", n))[0],
    "struct l": lambda n: struct.unpack("l", struct.pack("l", n))[0],
    "array l": lambda n: array.array("l", [n])[0],
    "range first": lambda n: list(itertools.islice(range(n, n + 5), 2)),
    "range last": lambda n: range(n)[-1],
    "range reversed": lambda n: next(reversed(range(n)), None),
    "range in": lambda n: n in range(n + 1),
    "range index": lambda n: range(n + 1).index(n),
    "range count": lambda n: range(n + 1).count(n),
    "bisect range": lambda n: bisect.bisect(range(n), n // 2),
    "bisect range key": lambda n: bisect.bisect_left(range(n), True, key=lambda x: x * x >= n),
    "bisect hi": lambda n: bisect.bisect([1, 2, 3], 2, 0, min(n, 3)),
    "sum": lambda n: sum([n, 1, -n]),
    "prod": lambda n: math.prod([n, 3]),
    "comb": lambda n: math.comb(n, 2),
    "perm": lambda n: math.perm(n, 2),
    "gcd": lambda n: math.gcd(n, 12),
    "ldexp": lambda n: math.ldexp(0.0, n),
    "round": lambda n: round(1.5, n),
    "round int": lambda n: round(15, -abs(n)) if abs(n) > 10**20 else None,
    "to_bytes": lambda n: n.to_bytes(16, "little", signed=True).hex(),
    "decimal": lambda n: str(decimal.Decimal(n) + 1),
    "decimal tuple": lambda n: str(decimal.Decimal((0, (1,), n))),
    "decimal scaleb": lambda n: str(decimal.Decimal(1).scaleb(n)),
    "decimal round": lambda n: str(round(decimal.Decimal("1.5"), n)),
    "random choice": lambda n: random.Random(1).choice(range(n)) < n,
    "random sample": lambda n: len(random.Random(1).sample(range(n), 3)),
    "random randrange": lambda n: random.Random(1).randrange(n),
    "random randint": lambda n: random.Random(1).randint(-abs(n), abs(n)),
    "format width": lambda n: f"{1:>{n}}" if n > 10**10 else None,
    "percent width": lambda n: "%*d" % (n, 1) if n > 10**10 else None,
    "percent precision": lambda n: "%.*s" % (n, "ab"),
    "template": lambda n: string.Template("$a").substitute(a=n),
    "ljust": lambda n: "a".ljust(n) if n > 10**10 else None,
    "mmap find": lambda n: mmap.mmap(-1, 4).find(b"a", 0, n),
}


def outcome(case, size):
    try:
        return ["value", repr(case(size))]
    except (MemoryError, ArithmeticError, LookupError, TypeError, ValueError, struct.error) as error:
        return ["error", type(error).__name__]


def main():
    for name, case in CASES.items():
        print(json.dumps([name, [outcome(case, size) for size in SIZES]]))


main()
