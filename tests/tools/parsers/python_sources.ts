import fc from "fast-check";

const TEXT = fc.array(
  fc.constantFrom(
    "a",
    "é",
    "😀",
    " ",
    "\\n",
    "\\\\",
    "\\'",
    '\\"',
    "\\a",
    "\\v",
    "\\0",
    "\\101",
    "\\777",
    "\\x41",
    "\\xg",
    "\\u00e9",
    "\\U0001F600",
    "\\U00110000",
    "\\N{DEGREE SIGN}",
    "\\N{greek small letter alpha}",
    "\\N{NO NAME}",
    "\\N",
    "\\q",
    "\\d",
    "\\\n",
    "\n",
    "'",
    '"',
    "{",
    "#",
  ),
  { maxLength: 5 },
).map((parts) => parts.join(""));
const STRING = fc.tuple(
  fc.constantFrom("", "", "", "r", "R", "b", "rb", "Br", "u", "f", "ur"),
  fc.constantFrom("'", '"', "'''", '"""'),
  TEXT,
).map(([prefix, quotes, text]) => prefix + quotes + text + quotes);
const STRINGS = fc.array(STRING, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(" "));
const NUMBER = fc.tuple(
  fc.constantFrom("", "", "-", "+", "- ", "--"),
  fc.constantFrom(
    ..."0|7|42|1_000|1__0|007|00|0_0|05.5|1.|.5|.|1.5e3|1E-2|1e|0x1F|0XdeadBEEF|0x_1|0xg|0o17|0o8|0b101|0b2|1j|2.5J|1_0.0_1|12345678901234567890|1e400"
      .split("|"),
  ),
).map((parts) => parts.join(""));
const WORD = fc.constantFrom(
  "True",
  "False",
  "None",
  "set()",
  "...",
  "x",
  "f(1)",
  "not True",
  "1 + 2",
  "{**{}}",
  "[*[1]]",
);

const { value } = fc.letrec<{ value: string }>((tie) => {
  const items = fc.tuple(fc.array(tie("value"), { maxLength: 3 }), fc.constantFrom("", "", "", ",", " # c\n"))
    .map(([values, end]) => values.join(", ") + end);
  const key = fc.oneof({ weight: 4, arbitrary: STRING }, NUMBER, fc.constantFrom("None", "True", "(1, 2)"));
  return {
    value: fc.oneof(
      { depthSize: "small" },
      STRINGS,
      NUMBER,
      WORD,
      items.map((text) => `[${text}]`),
      items.map((text) => `(${text})`),
      fc.array(fc.oneof(STRING, NUMBER), { minLength: 1, maxLength: 3 }).map((all) => `{${all.join(",")}}`),
      fc.array(fc.tuple(key, tie("value")), { maxLength: 3 }).map((all) =>
        `{${all.map(([name, value]) => `${name}: ${value}`).join(", ")}}`
      ),
    ),
  };
});

const KEYWORD = fc.tuple(fc.constantFrom("a", "b", "_c", "é"), value).map(([name, value]) =>
  `${name}=${value}`
);
const CALL = fc.tuple(
  fc.constantFrom("f", "get_x", "g2"),
  fc.uniqueArray(fc.oneof({ weight: 20, arbitrary: KEYWORD }, value), {
    maxLength: 3,
    selector: (text) => text.split("=", 1)[0],
  }),
).map(([name, args]) => `${name}(${args.join(", ")})`);

/** Texts that are lists of Python calls, or nearly so. */
export const pythonSources: fc.Arbitrary<string> = fc.tuple(
  fc.array(CALL, { minLength: 1, maxLength: 2 }),
  fc.constantFrom(...["", "", "", "", "", "", ",", " ", " x", "]"]),
).map(([calls, end]) => `[${calls.join(", ")}${end === "," ? "," : ""}]${end === "," ? "" : end}`);
