import { assertEquals, assertThrows } from "@std/assert";
import {
  checkJsonLimits,
  JsonLimitError,
  JsonMeter,
  parseUntrustedJson,
  toWellFormedJson,
} from "../src/json.ts";
import { seededRandom } from "../src/seeded_random.ts";

Deno.test("toWellFormedJson() replaces unpaired surrogates and changes nothing else", () => {
  const values: [unknown, unknown][] = [
    ["\ud83d", "\ufffd"],
    ["\ude00 \ud83d\ude00", "\ufffd 😀"],
    [{ "\ud83d": ["\\\ud83d", "\\\\"] }, { "\ufffd": ["\\\ufffd", "\\\\"] }],
    ["\\ud83d \\\\ud83d é\n", "\\ud83d \\\\ud83d é\n"],
  ];
  for (const [value, written] of values) assertEquals(JSON.parse(toWellFormedJson(value)), written);
});

Deno.test("parseUntrustedJson() refuses a text above its limits before it parses it", () => {
  const limits = { depth: 3, values: 5 };
  for (
    const text of [
      "[[[1]]]",
      '{"a": {"b": [1, 2]}}',
      "[1, 2, 3, 4, 5]",
      '"[[[[,,,,,,,"',
      '["\\\\", "\\"[[[[,,,,,,,"]',
    ]
  ) {
    assertEquals(parseUntrustedJson(text, limits), JSON.parse(text), text);
  }
  for (
    const text of [
      "[[[[1]]]]",
      "[[[[",
      "[1, 2, 3, 4, 5, 6]",
      "[[],[],[],[]]",
      '["\\\\", 1, 2, 3, 4, 5]',
      '{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}',
    ]
  ) {
    assertThrows(() => parseUntrustedJson(text, limits), JsonLimitError, "JSON must");
  }
});

Deno.test("parseUntrustedJson() leaves invalid JSON to the parser", () => {
  for (const text of ["", '"', '"\\"', "[1,", "]", "{]"]) {
    assertThrows(() => parseUntrustedJson(text), SyntaxError);
  }
});

/** Counts depth and values byte by byte, as a {@linkcode JsonMeter} must. */
function countsOf(bytes: Uint8Array): { depth: number; values: number } {
  let [depth, most, values, isInString, isEscaped] = [0, 0, 0, false, false];
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    if (isInString) {
      if (char === '"' && !isEscaped) isInString = false;
      isEscaped = char === "\\" && !isEscaped;
    } else if (char === '"') isInString = true;
    else if ("[{".includes(char)) [depth, values, most] = [depth + 1, values + 1, Math.max(most, depth + 1)];
    else if ("]}".includes(char)) depth--;
    else if (char === ",") values++;
  }
  return { depth: most, values };
}

Deno.test("JsonMeter counts the same however the bytes are divided, and as checkJsonLimits() does", () => {
  const random = seededRandom(7);
  const below = (count: number) => Math.floor(random() * count);
  const runs = [
    '"',
    '"',
    "\\",
    '\\"',
    "\\\\",
    "[",
    "{",
    "]",
    "}",
    ",",
    "x".repeat(70),
    '\\"'.repeat(50),
    "9".repeat(100),
    "é",
  ];
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: 40 }, () => runs[below(runs.length)]).join("");
    const bytes = new TextEncoder().encode(text);
    const { depth, values } = countsOf(bytes);
    const smaller = [
      ...depth > 0 ? [{ depth: depth - 1, values }] : [],
      ...values > 0 ? [{ depth, values: values - 1 }] : [],
    ];
    for (const limits of [{ depth, values }, ...smaller]) {
      const meter = new JsonMeter(limits);
      const pushAll = () => {
        for (let at = 0; at < bytes.length;) {
          const end = at + below(90);
          meter.push(bytes.subarray(at, end));
          at = end;
        }
      };
      for (
        const check of [pushAll, () => checkJsonLimits(bytes, limits), () => checkJsonLimits(text, limits)]
      ) {
        if (smaller.includes(limits)) assertThrows(check, JsonLimitError);
        else check();
      }
    }
  }
});
