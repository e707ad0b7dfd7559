import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runCommandLine } from "../../../src/cli/commands.ts";
import type { TokenReport } from "../../../src/rollout/check_tokens.ts";
import { FakeVllm, type FakeVllmOptions } from "../../policy/fake_vllm.ts";
import { TempFolder } from "../../temp_folder.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../../tiny_tokenizer.ts";
import { FakeSink } from "../fake_sink.ts";
import { type Run, runPaddock } from "../run_paddock.ts";

const chatTemplate = await Deno.readTextFile(
  new URL("../../goldens/qwen_like_template.jinja", import.meta.url),
);
const tokenizer = await tinyTokenizer({ chatTemplate });

/** Returns a folder with the tokenizer's files. */
function tokenizerFolder(): Promise<TempFolder> {
  const { tokenizer, config } = tinyTokenizerFiles({ chatTemplate });
  return TempFolder.of({
    "tokenizer.json": JSON.stringify(tokenizer),
    "tokenizer_config.json": JSON.stringify(config),
  });
}

function fakeServer(options: Partial<FakeVllmOptions> = {}): FakeVllm {
  return new FakeVllm({ tokenizer, sample: () => "hello the world<|im_end|>", ...options });
}

/** Runs the command for a server, with these further arguments. */
async function runCheck(policy: string, ...args: string[]): Promise<Run> {
  await using folder = await tokenizerFolder();
  return await runPaddock(["check-tokens", "--policy", policy, "--tokenizer", folder.path, ...args]);
}

Deno.test("check-tokens trusts honest servers of vLLM and SGLang, and exits with 0", async () => {
  await using server = fakeServer();
  for (const args of [[`sglang:${server.url}`], [`openai:${server.url}`, "--model", "m"]]) {
    const [policy = "", ...rest] = args;
    const { code, stdout, stderr } = await runCheck(policy, ...rest);
    assertEquals([code, stderr], [0, ""], stdout);
    assertMatch(stdout, /^✓ question +one question: 1 reply, /);
    assertStringIncludes(stdout, "The tokens can be trusted for training");
  }
});

Deno.test("check-tokens shows the first token that differs, and exits with 1", async () => {
  await using server = fakeServer({
    lie: ({ choices: [choice] }, request) => {
      if (request > 1) choice.prompt_token_ids[4] = 70;
    },
  });
  const { code, stdout } = await runCheck(`openai:${server.url}`, "--model", "m");
  assertEquals(code, 1);
  assertMatch(stdout, /^✓ question/);
  assertMatch(stdout, /✗ turns .*\n {4}reply 1, the server had another prompt, first at token 4:\n/);
  assertMatch(stdout, /\n {6}expected {2}\d+ +in "<\|im_start\|>.*\n {6}server {4}70 +in "/);
  assertStringIncludes(stdout, "The tokens cannot be trusted for training: 9 of 10 chats failed");
});

Deno.test("check-tokens --json prints one object", async () => {
  await using server = fakeServer();
  const { code, stdout } = await runCheck(`sglang:${server.url}`, "--json");
  const report: TokenReport = JSON.parse(stdout);
  assertEquals([code, report.ok, report.failure, report.chats.length], [0, true, null, 10]);
  assertEquals(stdout.trimEnd().includes("\n"), false);
});

Deno.test("check-tokens says how to start a server when there is none, or it returns no ids", async () => {
  const unreachable = await runCheck("sglang:http://127.0.0.1:1");
  assertEquals(unreachable.code, 1);
  assertStringIncludes(unreachable.stdout, "http://127.0.0.1:1/generate");
  await using server = fakeServer({ wire: "openai" });
  const without = await runCheck(`openai:${server.url}`, "--model", "m");
  assertEquals(without.code, 1);
  assertStringIncludes(without.stdout, "found no ids of the prompt and of the reply");
  for (const { stdout } of [unreachable, without]) {
    assertStringIncludes(stdout, "The tokens cannot be checked, as the first request failed.");
    assertStringIncludes(stdout, "python -m sglang.launch_server --model-path MODEL");
    assertStringIncludes(stdout, "vllm serve MODEL");
  }
});

Deno.test("check-tokens exits with 2 for wrong usage", async () => {
  const url = "http://127.0.0.1:1";
  const cases: [string[], string][] = [
    [["--policy", `sglang:${url}`], "--tokenizer"],
    [["--tokenizer", "."], "--policy"],
    [["--policy", `sglang:${url}`, "--tokenizer", "/nowhere"], "tokenizer.json"],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await runPaddock(["check-tokens", ...args]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, message);
  }
  for (const policy of ["scripted", "calculator", "gpt"]) {
    const { code, stderr } = await runCheck(policy);
    assertEquals(code, 2);
    assertStringIncludes(stderr, policy === "gpt" ? "available are" : "it needs a server");
  }
  const unnamed = await runCheck(`openai:${url}`);
  assertEquals([unnamed.code, unnamed.stderr.includes("--model NAME")], [2, true]);
  const style = await runCheck(`sglang:${url}`, "--calls", "x");
  assertEquals([style.code, style.stderr.includes("Cannot find calls 'x'")], [2, true]);
});

Deno.test("check-tokens shows the running chat on a terminal, and Ctrl-C cancels the reply and exits with 130", async () => {
  await using folder = await tokenizerFolder();
  const interrupt = new AbortController();
  await using server = fakeServer({
    sample: (_prompt, request) => {
      if (request === 4) interrupt.abort(new DOMException("Interrupted", "AbortError"));
      return "hello<|im_end|>";
    },
  });
  const [stdout, stderr] = [new FakeSink(true), new FakeSink(true)];
  const streams = { stdout, stderr };
  const code = await runCommandLine(
    ["check-tokens", "--policy", `sglang:${server.url}`, "--tokenizer", folder.path],
    {
      stdin: { readable: new Blob([]).stream(), isTerminal: () => true },
      stdout: Object.assign(streams.stdout, { writeSync: (bytes: Uint8Array) => bytes.length }),
      stderr: Object.assign(streams.stderr, { writeSync: (bytes: Uint8Array) => bytes.length }),
      env: { get: () => undefined },
      signal: interrupt.signal,
      exitCode: 0,
    },
  );
  assertEquals(code, 130);
  assertStringIncludes(stderr.text, "1/10  question …");
  assertStringIncludes(stderr.text, "2/10  turns …");
  assertEquals(stderr.text.endsWith("\r\x1b[K"), true);
  assertMatch(stdout.text, /✓ question/);
  assertEquals(stdout.text.includes("turns"), false);
  assertEquals(server.seen.some(({ path }) => path === "/abort_request"), true);
});
