import { assertEquals } from "@std/assert";
import { codeTokens } from "../../src/viewer/code_tokens.ts";

Deno.test("codeTokens() finds the parts of a Python program", () => {
  const tokens = codeTokens('def f(x):  # "no"\n  return """a\n\\"""" + 0x1f', "python");
  assertEquals(tokens.filter(({ kind }) => kind !== "plain"), [
    { kind: "keyword", text: "def" },
    { kind: "name", text: "f" },
    { kind: "comment", text: '# "no"' },
    { kind: "keyword", text: "return" },
    { kind: "string", text: '"""a\n\\""""' },
    { kind: "number", text: "0x1f" },
  ]);
});

Deno.test("codeTokens() joined are the given text, also if it is no code", () => {
  const texts = ["'open\nx = 1", '"""open', "\\", "é̈ 名前(1)", "`a${b}`", "0x 1e 1.e5 \u{1f600}", "#", ""];
  for (const language of ["python", "js", "bash", "json", "other", "__proto__"]) {
    for (const text of texts) {
      assertEquals(
        codeTokens(text, language).map((token) => token.text).join(""),
        text,
        `${language}: ${text}`,
      );
    }
  }
});

Deno.test("codeTokens() takes time in proportion to the length of hostile code", () => {
  for (const piece of ["'", '"""', "/*", "a", "0", "\\", "${", "("]) {
    const code = piece.repeat(200_000);
    assertEquals(codeTokens(code, "python").map(({ text }) => text).join(""), code);
  }
});
