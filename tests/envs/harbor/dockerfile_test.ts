import { assertEquals, assertThrows } from "@std/assert";
import { expandVariables, parseDockerfile, splitWords } from "../../../src/envs/harbor/config/dockerfile.ts";

Deno.test("parseDockerfile() joins continued lines, without the comments between them", () => {
  const text =
    "# syntax=docker/dockerfile:1\nFROM python:3.14 AS base\nrun apt-get update \\\n  # tools\n\n  && true\n";
  assertEquals(parseDockerfile(text).map(({ name, text, line }) => [name, text, line]), [
    ["FROM", "python:3.14 AS base", 2],
    ["RUN", "apt-get update   && true", 3],
  ]);
});

Deno.test("parseDockerfile() reads options, and bodies of here-documents", () => {
  const [copy, run] = parseDockerfile("COPY --chown=1:1 --from=a b c\nRUN <<-'EOF'\n\techo one\n\tEOF\n");
  assertEquals(copy?.options, { chown: "1:1", from: "a" });
  assertEquals(copy?.text, "b c");
  assertEquals(run?.documents, ["echo one\n"]);
});

Deno.test("parseDockerfile() takes the character that continues lines from a directive", () => {
  const [run] = parseDockerfile("# escape=`\nRUN one `\ntwo\\\n");
  assertEquals(run?.text, "one two\\");
});

Deno.test("parseDockerfile() refuses a here-document without an end", () => {
  assertThrows(() => parseDockerfile("RUN <<EOF\necho one\n"), SyntaxError, "must end with 'EOF'");
});

Deno.test("expandVariables() replaces variables with their defaults", () => {
  const values = new Map([["A", "1"], ["EMPTY", ""]]);
  assertEquals(expandVariables("$A ${A}b ${EMPTY:-x} ${A:+y} $NONE. \\$A", values), "1 1b x y . \\$A");
});

Deno.test("splitWords() keeps quoted blanks together", () => {
  assertEquals(splitWords(`A="b c" 'd e' f\\ g`), ["A=b c", "d e", "f g"]);
});
