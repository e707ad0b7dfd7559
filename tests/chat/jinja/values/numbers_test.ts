import { assertEquals, assertThrows } from "@std/assert";
import { PythonValueError, UnsupportedError } from "../../../../src/chat/jinja/jinja_errors.ts";
import {
  addInts,
  bitLength,
  divideInts,
  floatText,
  intText,
  multiplyInts,
  negateInt,
  parseDouble,
  parseInteger,
  powerOfInts,
  toDouble,
  trueDivideInts,
  truncate,
} from "../../../../src/chat/jinja/values/numbers.ts";

const MAX_SAFE = Number.MAX_SAFE_INTEGER;

Deno.test("sums and products of integers are exact beyond 2^53, and numbers again below", () => {
  assertEquals(addInts(MAX_SAFE, 1), 9007199254740992n);
  assertEquals(addInts(9007199254740992n, -1), MAX_SAFE);
  assertEquals(multiplyInts(3, 3_002_399_751_580_331), 9007199254740993n);
  assertEquals(multiplyInts(-1, 0), 0);
  assertEquals(negateInt(-9007199254740992n), 9007199254740992n);
  assertEquals(Object.is(negateInt(0), 0), true);
});

Deno.test("divideInts() rounds down and gives the rest the sign of the divisor, as Python does", () => {
  const cases: readonly [number | bigint, number | bigint, number | bigint, number | bigint][] = [
    [7, 2, 3, 1],
    [-7, 2, -4, 1],
    [7, -2, -4, -1],
    [-7, -2, 3, -1],
    [-6, 3, -2, 0],
    [10n ** 30n, 7, 142857142857142857142857142857n, 1],
    [-(10n ** 30n), 7, -142857142857142857142857142858n, 6],
    [MAX_SAFE, -1, -MAX_SAFE, 0],
  ];
  for (const [a, b, quotient, rest] of cases) {
    assertEquals(divideInts(a, b), { quotient, rest }, `${a} / ${b}`);
  }
  assertThrows(() => divideInts(1, 0), PythonValueError, "by zero");
});

Deno.test("trueDivideInts() rounds once, also where an operand is no double", () => {
  assertEquals(trueDivideInts(1, 3), 1 / 3);
  assertEquals(trueDivideInts(10n ** 400n, 10n ** 399n), 10);
  assertEquals(trueDivideInts(9007199254740993n, 9007199254740992n), 1);
  assertEquals(trueDivideInts(-(10n ** 30n), 3), -3.333333333333333e29);
  assertThrows(() => trueDivideInts(10n ** 400n, 1), PythonValueError, "too large for a float");
  assertThrows(() => trueDivideInts(1, 0), PythonValueError, "division by zero");
});

Deno.test("powers and products refuse to become larger than a million bits", () => {
  assertEquals(powerOfInts(2, 100), 1267650600228229401496703205376n);
  assertEquals([powerOfInts(-1, 3), powerOfInts(0, 0), powerOfInts(1, 10n ** 30n)], [-1, 1, 1]);
  assertThrows(() => powerOfInts(2, 10_000_000), UnsupportedError, "bits");
  const large = 2n ** 1_000_000n;
  assertThrows(() => multiplyInts(large, large), UnsupportedError, "bits");
  assertEquals([bitLength(0), bitLength(255), bitLength(-256), bitLength(2n ** 64n)], [0, 8, 9, 65]);
});

Deno.test("floatText() writes doubles as Python's repr", () => {
  const cases: readonly [number, string][] = [
    [1, "1.0"],
    [-0, "-0.0"],
    [0.1, "0.1"],
    [1e16, "1e+16"],
    [123456789012345680, "1.2345678901234568e+17"],
    [9999999999999998, "9999999999999998.0"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [1.5e-300, "1.5e-300"],
    [NaN, "nan"],
    [-Infinity, "-inf"],
  ];
  for (const [value, text] of cases) assertEquals(floatText(value), text);
});

Deno.test("parseInteger() takes what int() takes in a base", () => {
  const cases: readonly [string, number, number | bigint | undefined][] = [
    ["12_000", 10, 12000],
    ["1__2", 10, undefined],
    ["-0", 10, 0],
    ["٣٤", 10, 34],
    ["12a", 10, undefined],
    ["0xff", 16, 255],
    ["ff", 16, 255],
    ["0b101", 0, 5],
    ["0o17", 0, 15],
    ["017", 0, undefined],
    ["00", 0, 0],
    ["z", 36, 35],
    ["8", 8, undefined],
    ["9007199254740993", 10, 9007199254740993n],
    ["1".repeat(4301), 10, undefined],
    ["", 10, undefined],
  ];
  for (const [text, base, value] of cases) {
    assertEquals(parseInteger(text, base), value, `${text} of ${base}`);
  }
});

Deno.test("parseDouble() takes what float() takes, and truncate() refuses what int() refuses", () => {
  assertEquals(["1_0.5", ".5", "5.", "1e3", "-inf", "INFINITY"].map(parseDouble), [
    10.5,
    0.5,
    5,
    1000,
    -Infinity,
    Infinity,
  ]);
  assertEquals(Number.isNaN(parseDouble("nan")), true);
  assertEquals(["", "1e", "1_", "0x1", "inf2", "1 2"].map(parseDouble), Array(6).fill(undefined));
  assertEquals([truncate(-1.9), truncate(1e20), Object.is(truncate(-0.5), 0)], [
    -1,
    100000000000000000000n,
    true,
  ]);
  assertThrows(() => truncate(NaN), PythonValueError, "cannot convert float nan to integer");
});

Deno.test("an integer of more digits than Python prints has no text, and one beyond doubles no double", () => {
  assertEquals(intText(-(10n ** 4299n)).length, 4301);
  assertThrows(() => intText(10n ** 4300n), PythonValueError, "4300 digits");
  assertThrows(() => toDouble(10n ** 400n), PythonValueError, "too large");
});
