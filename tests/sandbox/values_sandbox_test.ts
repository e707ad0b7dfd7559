import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ExecOptions, Session } from "../../mod/sandbox.ts";
import { ArgumentTypeError } from "../../src/errors.ts";
import type { JsonValue } from "../../src/json.ts";
import { withSession } from "./shared_session.ts";
import { limited, value } from "./started.ts";

async function jsonOf(session: Session, code: string, options: ExecOptions = {}): Promise<unknown> {
  const result = await session.exec(code, options);
  value(result);
  return "valueJson" in result ? result.valueJson : "absent";
}

Deno.test("Session.exec() sets inputs as globals before the block runs", () =>
  withSession(async (session) => {
    const inputs = {
      n: 3,
      half: 0.5,
      text: "é\ud83d\ude00",
      none: null,
      yes: true,
      data: [1, { "a b": [] }],
      raw: new Uint8Array([0, 255]),
      empty: new Uint8Array(),
    };
    const code = "(n, half, text, none, yes, data, raw, empty)";
    assertEquals(
      value(await session.exec(code, { inputs })),
      String.raw`(3, 0.5, 'é😀', None, True, [1, {'a b': []}], b'\x00\xff', b'')`,
    );
    assertEquals(value(await session.exec("n + 1")), "4"); // it is a global as any other one
    assertEquals(value(await session.exec("n", { inputs: { n: 5 } })), "5");
    assertEquals(
      value(await session.exec("type(n) is int, n", { inputs: { n: 2 ** 53 - 1 } })),
      `(True, ${2 ** 53 - 1})`,
    );
    const script = await session.exec("print(n)", { argv: ["a.py"], inputs: { n: 7 } });
    assertEquals(script.stdout, "7\n");
  }));

Deno.test("Session.exec() passes typed arrays as arrays of the same elements", () =>
  withSession(async (session) => {
    const cases: [ArrayBufferView, string][] = [
      [new Int8Array([-1, 2]), "array('b', [-1, 2])"],
      [new Int16Array([-1, 2]), "array('h', [-1, 2])"],
      [new Uint16Array([65535]), "array('H', [65535])"],
      [new Int32Array([-1]), "array('i', [-1])"],
      [new Uint32Array([4294967295]), "array('I', [4294967295])"],
      [new BigInt64Array([-(2n ** 63n)]), `array('q', [-${2n ** 63n}])`],
      [new BigUint64Array([2n ** 64n - 1n]), `array('Q', [${2n ** 64n - 1n}])`],
      [new Float32Array([0.5]), "array('f', [0.5])"],
      [new Float64Array([0.1, NaN]), "array('d', [0.1, nan])"],
    ];
    for (const [array, expected] of cases) {
      assertEquals(value(await session.exec("x", { inputs: { x: array } })), expected);
    }
    const large = new Float64Array(4_000_000).fill(0.25); // 32 MB
    const largeSum = "sum(x), len(x), y";
    assertEquals(
      value(await session.exec(largeSum, { inputs: { x: large, y: 1 } })),
      "(1000000.0, 4000000, 1)",
    );
  }));

Deno.test("Session.exec() reports an input that does not fit into memory, and no later block receives it", async () => {
  const profile = await limited("python", { memoryBytes: 64 * 1024 * 1024 });
  await withSession(async (session) => {
    const result = await session.exec("1", { inputs: { a: new Uint8Array(60 << 20), b: 1 } });
    assertEquals(result.status, "memory");
    assertEquals(value(await session.exec("c, 'b' in globals()", { inputs: { c: 2 } })), "(2, False)");
  }, { profile });
});

Deno.test("Session.exec() rejects invalid inputs, and nothing runs", () =>
  withSession(async (session) => {
    for (const inputs of [{ class: 1 }, { __name__: 1 }, { x: undefined }, { x: new Map() }]) {
      await assertRejects(() => session.exec("x = 1", { inputs }), ArgumentTypeError, "input");
    }
    assertEquals(value(await session.exec("'x' in globals()")), "False");
    // The inputs of a request that is too large are not those of the next one.
    await assertRejects(
      () => session.exec("", { inputs: { x: 1 }, stdin: "x".repeat(70 << 20) }),
      RangeError,
      "at most",
    );
    assertEquals(value(await session.exec("y", { inputs: { y: 2 } })), "2");
  }));

Deno.test("Session.exec() returns the value as JSON where it is plain data", () =>
  withSession(async (session) => {
    const cases: [string, JsonValue][] = [
      ["True", true],
      ["1", 1],
      ["-(2**53 - 1)", -(2 ** 53 - 1)],
      ["0.1", 0.1],
      ["1e300", 1e300],
      ["'é\\n\"😀'", 'é\n"😀'],
      ["[]", []],
      ["()", []],
      ["{}", {}],
      ["[1, (2, [None, False]), {'a': {'b': 'c'}}]", [1, [2, [null, false]], { a: { b: "c" } }]],
      ["{'toString': 1, '': 2}", { toString: 1, "": 2 }],
      ["[[1]] * 3", [[1], [1], [1]]],
    ];
    for (const [code, expected] of cases) assertEquals(await jsonOf(session, code), expected, code);
    assertEquals(await jsonOf(session, "x * 2", { inputs: { x: [1, "a"] } }), [1, "a", 1, "a"]);
    const large = await jsonOf(session, "list(range(90_000))");
    assertEquals(large, Array.from({ length: 90_000 }, (_, index) => index));
  }));

Deno.test("Session.exec() returns no JSON of a value that is not plain or too large", () =>
  withSession(async (session) => {
    const codes = [
      "None",
      "x = 1",
      "2**53",
      "float('nan')",
      "[1, float('-inf')]",
      "b'x'",
      "{1}",
      "{1: 2}",
      "{('a',): 2}",
      "{'a': {2}}",
      "'\\ud800'",
      "{'\\ud800': 1}",
      "{'__proto__': 1}",
      "object()",
      "list(range(100_001))",
      "'x' * (1 << 20)",
      "['x' * 1000] * 2000",
      "'\\u1234' * 200_000",
      "a = []\na.append(a)\na",
      "a = 1\nfor _ in range(33): a = [a]\na",
      "a = [1]\nfor _ in range(17): a = [a, a]\na",
      "from collections import *\nOrderedDict()",
      "Counter('a')",
      "namedtuple('P', 'x')(1)",
      "from enum import *\nIntEnum('E', 'A').A",
    ];
    for (const code of codes) assertEquals(await jsonOf(session, code), "absent", code);
    assertEquals(await jsonOf(session, "a = 1\nfor _ in range(32): a = [a]\na") !== "absent", true);
    assertEquals(await jsonOf(session, "'x' * 100_000"), "x".repeat(100_000));
  }));

Deno.test("Session.exec() runs no code of the program to return a value as JSON", () =>
  withSession(async (session) => {
    const subclasses = `
calls = []
def spy(name):
    def call(*args, **options):
        calls.append(name)
        raise SystemExit(3)
    return call
NAMES = ("__iter__", "__len__", "__getitem__", "__str__", "__eq__", "__hash__", "__lt__", "__float__", "__index__",
    "items", "values", "keys", "copy", "encode", "isascii", "__class__")
kinds = [type(base.__name__, (base,), {name: spy(name) for name in NAMES if hasattr(base, name)} | {"__repr__": lambda s: "r"})
    for base in (int, float, str, list, tuple, dict)]
made = [kind.__new__(kind) for kind in kinds]
`;
    await session.exec(subclasses);
    for (let index = 0; index < 6; index++) {
      for (const code of [`made[${index}]`, `[[made[${index}]]]`, `{'a': (made[${index}],)}`]) {
        assertEquals(await jsonOf(session, code), "absent", code);
      }
    }
    assertEquals(value(await session.exec("calls")), "[]");
    const replaced = `
import builtins, json
for name in ("map", "sum", "zip"):
    setattr(builtins, name, spy(name))
json.dumps = spy("json")
[1, 'a', {'b': [2]}]`;
    assertEquals(await jsonOf(session, replaced), [1, "a", { b: [2] }]);
    assertEquals(value(await session.exec("calls")), "[]");
  }));

Deno.test("Session.exec() returns JSON of at most the output limit", async () => {
  const profile = await limited("python", { outputBytes: 1000 });
  await withSession(async (session) => {
    assertEquals(await jsonOf(session, "'x' * 998"), "x".repeat(998));
    assertEquals(await jsonOf(session, "'x' * 999"), "absent");
    const result = await session.exec("'x' * 999");
    assert(result.truncated);
  }, { profile });
});
