import { assertEquals } from "@std/assert";
import { glob } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { messageBranches } from "./message_branches.ts";

/** Functions that may branch on a message, and the reason why they have nothing else to go by. */
const EXEMPT: Readonly<Record<string, string>> = {
  failedToConnect: "Deno's `fetch` gives no class and no code to a connection that could not be made",
  isContextOverflow: "vLLM and SGLang give no code of its own to a prompt that exceeds the context",
};

Deno.test("no code branches on the text of an error message", async () => {
  const root = new URL("../", import.meta.url);
  const sources = new Map<string, string>();
  for await (
    const file of glob("{mod.ts,{src,bench,examples}/**/*.{ts,tsx}}", { cwd: fileURLToPath(root) })
  ) {
    if (!file.endsWith(".d.ts")) sources.set(file, await Deno.readTextFile(new URL(file, root)));
  }
  const branches = messageBranches(sources);
  assertEquals(branches.filter(({ inFunction }) => !Object.hasOwn(EXEMPT, inFunction)), []);
  assertEquals(new Set(branches.map(({ inFunction }) => inFunction)), new Set(Object.keys(EXEMPT)));
});

Deno.test("zod is imported as a namespace, of which bundles leave out what is not used", async () => {
  const root = new URL("../", import.meta.url);
  const found: string[] = [];
  for await (const file of glob("src/**/*.{ts,tsx}", { cwd: fileURLToPath(root) })) {
    const text = await Deno.readTextFile(new URL(file, root));
    if (/^import (?:type )?\{(?:[^}]*\W)?z\W[^}]*\} from "zod"/m.test(text)) found.push(file);
  }
  assertEquals(found, []);
});

Deno.test("no code asks for the operating system where it can try what it needs", async () => {
  const root = new URL("../", import.meta.url);
  const found: string[] = [];
  for await (const file of glob("{src,packaging}/**/*.{ts,tsx,mjs}", { cwd: fileURLToPath(root) })) {
    const text = await Deno.readTextFile(new URL(file, root));
    if (/Deno\.build\.(?:os|target|vendor)|process\.platform|navigator\.platform|\bplatform\(\)/.test(text)) {
      found.push(file);
    }
  }
  assertEquals(found, []);
});

const BRANCHES: readonly string[] = [
  `/^Cannot /.test(error.message)`,
  `/^Cannot /.exec(error.message)`,
  `PATTERN.test(error?.message ?? "")`,
  `PATTERN.test(String(error.message).trim())`,
  `error.message.includes("gone")`,
  `error.message.startsWith("gone")`,
  `error.message.toLowerCase().endsWith("gone")`,
  `error.message.match(/gone/)`,
  `error.message.search(/gone/) >= 0`,
  `error.message.indexOf("gone") === 0`,
  `error["message"].includes("gone")`,
  `error.message === "gone"`,
  `"gone" !== error.message`,
  `(error as Error).message == GONE`,
  `switch (error.message) { case "gone": }`,
  `STATUS[error.message]`,
  `STATUS.get(error.message)`,
  `["gone"].includes(error.message)`,
  `const why = error.message; if (why === "gone") {}`,
  `const why = error instanceof Error ? error.message : String(error); if (why === "gone") {}`,
  `const { message } = error; PATTERN.test(message)`,
  `const { message: why = "" } = error; why.startsWith("gone")`,
  `const { cause: { message } } = error; message.includes("gone")`,
  `const [why = ""] = error.message.split(":"); why === "gone"`,
  `let why = ""; why = error.message; why === "gone"`,
  `try {} catch (cause) { const why = String(cause); why.includes("gone"); }`,
  "try {} catch (cause) { `${cause}`.includes('gone'); }",
  `const why = errorMessage(error); why.includes("gone")`,
  `function why(error: Error) { return error.message; } why(error).includes("gone")`,
  `const why = (error: Error) => error.message; PATTERN.test(why(error))`,
  `const isGone = ({ message }: Error) => message === "gone"`,
  `class A { #why = ""; f() { this.#why = error.message; return this.#why === "gone"; } }`,
];

Deno.test("messageBranches() finds each way to branch on a message", () => {
  for (const code of BRANCHES) {
    const found = messageBranches(new Map([["a.ts", `const other = 1;\n${code}`]]));
    assertEquals(found.map(({ line }) => line), [2], code);
  }
});

const NO_BRANCHES: readonly string[] = [
  `error.code === "gone"`,
  `error instanceof GoneError`,
  `error.name === "AbortError"`,
  `error.message !== undefined`,
  `typeof error.message === "string"`,
  `throw new Error(error.message)`,
  `const why = error.message; print(why.slice(0, 60))`,
  `error.message.length > 60`,
  `error.message.replace(/gone/, "")`,
  `const why = error.message; { const why = text; why === "gone"; }`,
  `message.content === "gone"`,
  `for (const [index, message] of chat.entries()) if (message === other[index]) {}`,
  `const { message } = reply; message.role === "user"`,
  `const text = messageText(reply.message); text.includes("gone")`,
];

Deno.test("messageBranches() ignores code that does not branch on a message", () => {
  for (const code of NO_BRANCHES) assertEquals(messageBranches(new Map([["a.ts", code]])), [], code);
});

Deno.test("messageBranches() names the function around a branch", () => {
  const code = `function f() { return [1].map(() => error.message === "gone"); }`;
  const [branch] = messageBranches(new Map([["a.ts", code]]));
  assertEquals(branch, { file: "a.ts", line: 1, inFunction: "f", code: `error.message === "gone"` });
});

/** Files that build a regular expression, how often, and what it is built from. */
const BUILT_PATTERNS: Readonly<Record<string, readonly [times: number, from: string]>> = {
  "src/chat/added_tokens.ts": [1, "escaped tokens of the operator's tokenizer"],
  "src/chat/control_tokens.ts": [4, "escaped tokens and separators of the operator's tokenizer and template"],
  "src/chat/inverse_parsers.ts": [3, "escaped tokens of the operator's tokenizer"],
  "src/chat/load_tokenizer.ts": [1, "the operator's tokenizer file"],
  "src/chat/replies/thoughts.ts": [4, "constants, and patterns of call syntaxes"],
  "src/cli/repl/blocks.ts": [1, "constants"],
  "src/envs/workspace/replies/evaluation_output.ts": [1, "constants"],
  "src/rewards/ifeval/detectable_format.ts": [1, "escaped text of bounded length"],
  "src/rewards/ifeval/instructions.ts": [3, "escaped text of bounded length"],
  "src/rewards/math/forms.ts": [1, "constants"],
  "src/rewards/math/unicode.ts": [3, "constants"],
  "src/rewards/math/words.ts": [7, "constants"],
  "src/rewards/text_match.ts": [1, "the operator's own pattern, under the deadline of a GraderPool"],
  "src/rollout/tokens/sampled_reply.ts": [1, "escaped tokens of the operator's tokenizer"],
  "src/sandbox/guest/shell/git/worktree/wildmatch.ts": [1, "a guest's own pattern, in the guest"],
  "src/sandbox/guest/shell/gnu/awk/builtin_functions.ts": [1, "a guest's own pattern, in the guest"],
  "src/sandbox/guest/shell/gnu/awk/expressions.ts": [1, "a guest's own pattern, in the guest"],
  "src/sandbox/guest/shell/gnu/awk/values.ts": [2, "constants"],
  "src/sandbox/guest/shell/gnu/glob.ts": [1, "a guest's own pattern, in the guest"],
  "src/sandbox/guest/shell/gnu/regular_expression.ts": [5, "a guest's own pattern, in the guest"],
  "src/sandbox/guest/shell/gnu/ripgrep/expression.ts": [2, "a guest's own pattern, in the guest"],
  "src/sandbox/guest/shell/gnu/text/sed.ts": [1, "a guest's own pattern, in the guest"],
  "src/sandbox/guest/shell/gnu/time_zone.ts": [1, "constants"],
  "src/server/mcp/python_server.ts": [1, "constants"],
  "src/tools/code_blocks/code_blocks.ts": [3, "names of a fixed list of tags"],
  "src/tools/parsers/marked_calls.ts": [1, "escaped constants"],
  "src/tools/parsers/parameter_calls.ts": [1, "constants"],
  "src/tools/schema/formats.ts": [7, "constants"],
  "src/tools/schema/pattern_class.ts": [2, "constants, and the name of a property of Unicode"],
  "src/tools/schema/python_pattern.ts": [
    1,
    "a schema of the operator's own tools, and a short argument, not run",
  ],
};

Deno.test("no regular expression is built from a request, a data set or a reply", async () => {
  const root = new URL("../", import.meta.url);
  const found: Record<string, number> = {};
  for await (const file of glob("src/**/*.{ts,tsx}", { cwd: fileURLToPath(root) })) {
    const code = (await Deno.readTextFile(new URL(file, root))).replaceAll(/^\s*(\/\/|\/?\*).*$/gm, "");
    const times = code.match(/\bRegExp\s*\(/g)?.length ?? 0;
    if (times > 0) found[file] = times;
  }
  assertEquals(
    found,
    Object.fromEntries(Object.entries(BUILT_PATTERNS).map(([file, [times]]) => [file, times])),
  );
});
