import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { checkTemplate, compareReport, triedChats } from "../../../src/cli/templates/check.ts";
import { plainTokenizer } from "../../../src/cli/templates/plain_tokenizer.ts";
import { TempFolder } from "../../temp_folder.ts";
import { tinyTokenizerFiles } from "../../tiny_tokenizer.ts";
import { runPaddock } from "../run_paddock.ts";

const CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
const NO_PYTHON = ["--python", "/nonexistent/python"];

function checked(source: string) {
  return { name: "t", source, tokenizer: plainTokenizer("t", source) };
}

Deno.test("templates check renders chats and shows the token modes that work", async () => {
  await using folder = await TempFolder.of({ "a.jinja": CHATML });
  const { code, stdout, stderr } = await runPaddock([
    "templates",
    "check",
    `${folder.path}/a.jinja`,
    ...NO_PYTHON,
  ]);
  assertEquals(code, 0, stderr);
  assertMatch(
    stderr,
    /^not compared: Cannot render by transformers as '\/nonexistent\/python' must run: .*\n$/,
  );
  assertStringIncludes(stdout, "a.jinja\n  renders 40 of 40 chats\n");
  assertStringIncludes(stdout, "  ✓ token mode append\n");
  assertStringIncludes(stdout, "  loss mask: the contents of replies, as found in the text\n");
});

Deno.test("templates check names the place of an error and exits with 1", async () => {
  await using folder = await TempFolder.of({ "bad.jinja": "a\n{% nope %}", "good.jinja": CHATML });
  const { code, stdout } = await runPaddock(["templates", "check", folder.path, ...NO_PYTHON]);
  assertEquals(code, 1);
  assertStringIncludes(
    stdout,
    "bad.jinja\n  ✗ cannot be loaded: line 2, column 4: the tag 'nope' is unknown\ngood.jinja\n",
  );
});

Deno.test("templates check reads a tokenizer's folder, and prints JSON", async () => {
  const { tokenizer, config } = tinyTokenizerFiles({ chatTemplate: CHATML });
  await using folder = await TempFolder.of({
    "tokenizer.json": JSON.stringify(tokenizer),
    "tokenizer_config.json": JSON.stringify(config),
  });
  const { code, stdout, stderr } = await runPaddock([
    "templates",
    "check",
    folder.path,
    "--json",
    ...NO_PYTHON,
  ]);
  assertEquals(code, 0, stderr);
  const { failure, differences, versions, modes, outcomes } = JSON.parse(stdout);
  assertEquals([failure, differences, versions, outcomes.length], [null, null, null, triedChats().length]);
  assertEquals(modes.map(({ mode }: { mode: string }) => mode), [
    "append",
    "append, on-rewrite keep",
    "rerender",
  ]);
});

Deno.test("templates check refuses a folder without templates", async () => {
  await using folder = await TempFolder.of({ "a.txt": "" });
  const { code, stderr } = await runPaddock(["templates", "check", folder.path]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "must have tokenizer_config.json or files *.jinja: found neither");
  assertEquals((await runPaddock(["templates", "check", `${folder.path}/none`])).code, 2);
});

Deno.test("checkTemplate() says why a template cannot be trained on", () => {
  const template = "{% for m in messages %}{% if loop.last %}{{ m.content }}{% endif %}{% endfor %}Reply: ";
  const { modes } = checkTemplate(checked(template));
  const problems = modes.map(({ problem }) => problem);
  assert(
    problems.every((problem) => problem?.startsWith("Cannot write tokens in the token mode")),
    `${problems}`,
  );
});

Deno.test("compareReport() finds texts that differ, and counts an error of both as the same", () => {
  const report = checkTemplate(checked("{{ messages[0].content + '!' }}"));
  const results = report.outcomes.map((own) => "text" in own ? { text: own.text } : { error: "TypeError" });
  assertEquals(compareReport(report, results).differences, []);
  const [first, second, ...rest] = results;
  assertEquals([first, second], [{ text: "Hi!" }, { text: "Hi!" }]);
  const { differences } = compareReport(report, [{ text: "Ho!" }, { error: "TypeError: no" }, ...rest]);
  assertEquals(differences, [
    { chat: "one question", paddock: '"Hi!"', transformers: '"Ho!"' },
    { chat: "question and reply", paddock: '"Hi!"', transformers: "error: TypeError: no" },
  ]);
});

Deno.test("compareReport() reports a template that only transformers can load", () => {
  const report = checkTemplate(checked("{{ 1 | random }}"));
  const results = triedChats().map(() => ({ text: "1" }));
  assertEquals(compareReport(report, results).differences?.length, 1);
  assertEquals(compareReport(report, triedChats().map(() => ({ error: "x" }))).differences, []);
});

Deno.test("plainTokenizer() has bytes and the control tokens of a template", () => {
  const tokenizer = plainTokenizer("t", CHATML);
  const text = "<|im_start|>é😀\ufeff<|im_end|></s>x";
  const ids = tokenizer.encode(text);
  assertEquals(tokenizer.decode(ids), text);
  assertEquals(ids.length, 1 + 2 + 4 + 3 + 1 + 1 + 1);
});
