import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runCommandLine } from "../../../src/cli/commands.ts";
import { completion, FakeServer } from "../../policy/fake_server.ts";
import { FakeVllm } from "../../policy/fake_vllm.ts";
import { TempFolder } from "../../temp_folder.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../../tiny_tokenizer.ts";
import { runPaddock } from "../run_paddock.ts";

const { tokenizer, config } = tinyTokenizerFiles();
const FILES = {
  "tokenizer.json": JSON.stringify(tokenizer),
  "tokenizer_config.json": JSON.stringify(config),
};

/** The command `gateway` in this process, until it is disposed. */
class RunningGateway implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #run: Promise<number>;
  readonly #url = Promise.withResolvers<string>();
  #stderr = "";

  constructor(...args: string[]) {
    const write = (bytes: Uint8Array) => {
      this.#stderr += new TextDecoder().decode(bytes);
      const [url] = /http:\/\/[\d.:]+/.exec(this.#stderr) ?? [];
      if (url !== undefined) this.#url.resolve(url);
      return bytes.length;
    };
    const output = {
      writeSync: write,
      write: (bytes: Uint8Array) => Promise.resolve(write(bytes)),
      isTerminal: () => false,
    };
    this.#run = runCommandLine(["gateway", "--port", "0", ...args], {
      stdin: { readable: new Blob([]).stream(), isTerminal: () => false },
      stdout: output,
      stderr: output,
      env: { get: () => undefined },
      signal: this.#stop.signal,
      exitCode: 0,
    });
    this.#run.then((code) => this.#url.reject(new Error(`exit code ${code}: ${this.#stderr}`)));
  }

  /** What the gateway has written, when it listens. */
  async started(): Promise<string> {
    await this.#url.promise;
    return this.#stderr;
  }

  async send(path: string, body: object, key: string): Promise<Response> {
    return await fetch(await this.#url.promise + path, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#run;
  }
}

Deno.test("paddock gateway records an agent's turns by vLLM, and appends the rows of ended sessions to a file", async () => {
  await using folder = await TempFolder.of({ ...FILES, "rows.jsonl": '{"row": 0}\n{"half' });
  await using model = new FakeVllm({
    tokenizer: await tinyTokenizer(),
    sample: () => "hello the world<|im_end|>",
  });
  const token = "owner-0123456789abcdef";
  const rows = `${folder.path}/rows.jsonl`;
  {
    await using gateway = new RunningGateway(
      ...["--policy", `openai:${model.url}`, "--model", "m", "--tokenizer", folder.path],
      ...["--out", rows, "--token", token, "--max-tokens", "50"],
    );
    for (const reward of [1, undefined]) {
      const opened = await gateway.send("/v1/gateway/sessions", { task: { id: `t${reward}` } }, token);
      const { key, id } = await opened.json();
      const body = { model: "m", messages: [{ role: "user", content: "hi" }] };
      const { choices: [choice] } = await (await gateway.send("/v1/chat/completions", body, key)).json();
      assertEquals(choice.message.content, "hello the world");
      if (reward === undefined) continue;
      const rewarded = await gateway.send(`/v1/gateway/sessions/${id}/reward`, { reward }, token);
      assertEquals((await rewarded.json()).status, "completed");
    }
  }
  const lines = (await Deno.readTextFile(rows)).trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.map(({ row, task_id, reward, status }) => row ?? [task_id, reward, status]), [
    0,
    ["t1", 1, "completed"],
    ["tundefined", null, "aborted"],
  ]);
  for (const [at, { promptIds, ids }] of model.served.entries()) {
    const { tokens, turns: [{ sampled: { start, length } }] } = lines[at + 1];
    assertEquals([tokens.slice(0, start), tokens.slice(start, start + length)], [promptIds, ids]);
  }
  assertEquals(model.seen[0]?.body.max_tokens, 50);
});

Deno.test("paddock gateway says at its start that a model server without ids serves evaluations only", async () => {
  await using folder = await TempFolder.of();
  await using model = new FakeServer(() => completion({ role: "assistant", content: "hello" }));
  const rows = `${folder.path}/rows.jsonl`;
  {
    await using gateway = new RunningGateway(
      ...["--policy", `openai-chat:${model.url}`, "--model", "m", "--out", rows],
    );
    assertStringIncludes(
      await gateway.started(),
      "For evaluation only: the model server returns no token ids",
    );
    const { key } = await (await gateway.send("/v1/gateway/sessions", { task: { id: "t" } }, "")).json();
    const body = { model: "m", messages: [{ role: "user", content: "hi" }] };
    const { choices: [choice] } = await (await gateway.send("/v1/chat/completions", body, key)).json();
    assertEquals(choice.message.content, "hello");
  }
  const row = JSON.parse(await Deno.readTextFile(rows));
  assertEquals([row.tokens, row.info.not_for_training], [[], "the model server returns no token ids"]);
});

Deno.test("paddock gateway refuses wrong options before it listens", async () => {
  await using folder = await TempFolder.of(FILES);
  const common = ["gateway", "--tokenizer", folder.path, "--port", "0"];
  const cases: readonly [args: readonly string[], message: string][] = [
    [["gateway", "--tokenizer", folder.path], "without a model server"],
    [[...common, "--policy", "scripted"], "must be sglang:URL or openai:URL"],
    [[...common, "--policy", "openai:http://127.0.0.1:9"], "needs the name of the model"],
    [[...common, "--policy", "openai-chat:http://127.0.0.1:9", "--model", "m"], "gets messages"],
    [[...common, "--policy", "sglang:http://127.0.0.1:9", "--calls", "x"], "cannot find call style"],
    [[...common, "--policy", "sglang:http://127.0.0.1:9", "--host", "0.0.0.0"], "needs a token"],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await runPaddock(args);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr.toLowerCase(), message.toLowerCase());
  }
  assertMatch((await runPaddock(["gateway", "--help"])).stdout, /--rewritten <mode>/);
});
