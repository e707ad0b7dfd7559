import { assertEquals, assertThrows } from "@std/assert";
import {
  PythonTypeError,
  PythonValueError,
  TemplateLimitError,
} from "../../../../src/chat/jinja/jinja_errors.ts";
import { callStringMethod, isStringMethod } from "../../../../src/chat/jinja/values/string_methods.ts";
import { Markup, NO_KEYWORDS, Tuple, type Value } from "../../../../src/chat/jinja/values/values.ts";
import { newRun } from "../new_run.ts";

function call(text: string | Markup, name: string, ...positional: Value[]): Value {
  return callStringMethod(text, name, { positional, keywords: NO_KEYWORDS }, newRun());
}

Deno.test("methods of strings count characters, not the halves of pairs", () => {
  assertEquals(call("a😀b", "find", "b"), 2);
  assertEquals(call("a😀b", "rfind", "b", -1), 2);
  assertEquals(call("😀😀", "count", ""), 3);
  assertEquals(call("😀", "ljust", 3, "*"), "😀**");
  assertEquals(call("😀", "center", 4), " 😀  ");
});

Deno.test("methods of strings give what Python gives", () => {
  const cases: readonly [string, string, Value[], Value][] = [
    ["banana", "count", ["an"], 2],
    ["banana", "count", ["a", 2, 4], 1],
    ["abc", "find", ["c", 5], -1],
    ["abc", "find", ["", 4], -1],
    ["abc", "startswith", [new Tuple(["x", "ab"])], true],
    ["abc", "endswith", ["b", 0, 2], true],
    ["ab", "center", [5], "  ab "],
    ["abc", "center", [6], " abc  "],
    ["a\tb", "expandtabs", [4], "a   b"],
    ["-7", "zfill", [4], "-007"],
    ["a-b", "partition", ["-"], new Tuple(["a", "-", "b"])],
    ["ab", "rpartition", ["-"], new Tuple(["", "", "ab"])],
    [" a  b ", "split", [], ["a", "b"]],
    ["a,b,c", "split", [",", 1], ["a", "b,c"]],
    ["a,b,c", "rsplit", [",", 1], ["a,b", "c"]],
    ["a\r\nb\u2028c", "splitlines", [], ["a", "b", "c"]],
    ["xxabxx", "strip", ["x"], "ab"],
    ["aaa", "replace", ["a", "b", 2], "bba"],
    ["ab", "replace", ["", "-"], "-a-b-"],
    ["Straße", "casefold", [], "strasse"],
    ["hello wORLD", "title", [], "Hello World"],
    ["aB", "swapcase", [], "Ab"],
    ["prefix-a", "removeprefix", ["prefix-"], "a"],
    ["a", "removesuffix", [""], "a"],
    ["٣", "isdecimal", [], true],
    ["²", "isdecimal", [], false],
    ["²", "isdigit", [], true],
    ["½", "isnumeric", [], true],
    ["", "isalpha", [], false],
    ["", "isascii", [], true],
    ["-", "join", [["a", "b"]], "a-b"],
  ];
  for (const [text, name, args, value] of cases) {
    assertEquals(call(text, name, ...args), value, `${text}.${name}`);
  }
});

Deno.test("methods of strings refuse other arguments", () => {
  assertThrows(() => call("a", "index", "b"), PythonValueError, "not found");
  assertThrows(() => call("a", "find", 1), PythonTypeError);
  assertThrows(() => call("a", "center", 5, "ab"), PythonTypeError, "one character");
  assertThrows(() => call("a", "upper", 1), PythonTypeError);
  assertThrows(() => call("a", "join", ["a", 1]), PythonTypeError);
  assertThrows(() => call("a", "ljust", 2 ** 30), TemplateLimitError, "characters");
  assertEquals([isStringMethod("upper"), isStringMethod("encode"), isStringMethod("constructor")], [
    true,
    false,
    false,
  ]);
});

Deno.test("a method of a safe text escapes its arguments, and its result is safe", () => {
  assertEquals(call(new Markup("<b>"), "join", ["<", "a"]), new Markup("&lt;<b>a"));
  assertEquals(call(new Markup("a,b"), "split", ","), [new Markup("a"), new Markup("b")]);
  assertEquals(call(new Markup("<b>"), "replace", "<b>", "&"), new Markup("&amp;"));
});
