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

Deno.test("templates check refuses files that are no templates", async () => {
  await using folder = await TempFolder.of({ "package.json": "{}", "tokenizer_config.json": "{}" });
  await Deno.writeFile(`${folder.path}/latin1.jinja`, new Uint8Array([0x7b, 0x7b, 0xff, 0x7d, 0x7d]));
  const errors = {
    "package.json": "must be Jinja, or tokenizer_config.json: it is another JSON file",
    "tokenizer_config.json": "tokenizer.json' must exist",
    "latin1.jinja": "Cannot read",
  };
  for (const [name, message] of Object.entries(errors)) {
    const { code, stderr } = await runPaddock(["templates", "check", `${folder.path}/${name}`, ...NO_PYTHON]);
    assertEquals(code, 2, name);
    assertStringIncludes(stderr, message);
  }
});

Deno.test("templates check reads the template beside a configuration without a tokenizer", async () => {
  await using folder = await TempFolder.of({ "chat_template.jinja": CHATML, "tokenizer_config.json": "{}" });
  const { code, stdout, stderr } = await runPaddock(["templates", "check", folder.path, ...NO_PYTHON]);
  assertEquals(code, 0, stderr);
  assertStringIncludes(stdout, "chat_template.jinja\n  renders 40 of 40 chats\n");
});

/** A template that writes calls, with the expression of a call's text. */
function calling(call: string): string {
  return "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}" +
    `{% for c in m.tool_calls or [] %}${call}{% endfor %}<|im_end|>\n{% endfor %}`;
}

Deno.test("checkTemplate() finds the form of native calls and of contents", () => {
  const form = (source: string) => checkTemplate(checked(source)).calls;
  assertEquals(form(CHATML), null);
  const content = { empty: "", null: null } as const;
  assertEquals(form(calling("[{{ c.function.arguments | tojson }}]")), {
    arguments: "object",
    content,
    several: true,
  });
  assertEquals(form(calling("{{ '[' + c.function.arguments + ']' }}")), {
    arguments: "text",
    content,
    several: true,
  });
  assertEquals(
    form(calling("{% if loop.first and m.content is none %}{{ c.function.arguments }}{% endif %}")),
    {
      arguments: "object",
      content: { empty: null, null: null },
      several: false,
    },
  );
  const parts =
    "{% for m in messages %}{{ m.role }}{% for part in m.content if part.type == 'text' %}{{ part.text }}" +
    "{% endfor %}\n{% endfor %}";
  assertEquals(checkTemplate(checked(parts)).rolesWithParts, ["system", "user", "assistant", "tool"]);
  assertEquals(checkTemplate(checked(CHATML)).rolesWithParts, []);
});

Deno.test("templates check prints the form of calls and contents", async () => {
  await using folder = await TempFolder.of({ "a.jinja": calling("{{ '[' + c.function.arguments + ']' }}") });
  const { stdout } = await runPaddock(["templates", "check", `${folder.path}/a.jinja`, ...NO_PYTHON]);
  assertStringIncludes(
    stdout,
    '  native calls: arguments as JSON text, content "" or null\n  contents: text\n',
  );
});

Deno.test("checkTemplate() says why a template cannot be trained on", () => {
  const template = "{% for m in messages %}{% if loop.last %}{{ m.content }}{% endif %}{% endfor %}Reply: ";
  const { modes } = checkTemplate(checked(template));
  const problems = modes.map(({ problem }) => problem);
  assert(
    problems.every((problem) => /^Cannot \w+ turn .*template 't'/.test(problem ?? "")),
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
