import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Serving } from "../../../bench/serving.ts";
import { PaddockClient, type RemoteRolloutItem } from "../../../mod/client.ts";
import { SandboxError } from "../../../src/errors.ts";
import { FakeVllm } from "../../policy/fake_vllm.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../../tiny_tokenizer.ts";
import { runPaddock } from "../run_paddock.ts";

const TASKS = Array.from(
  { length: 6 },
  (_, at) => ({ id: `${at}`, query: `What is ${at} + 1?`, answer: at + 1 }),
);

/** Writes a program in the first turn of a chat, and its output as the answer in the second. */
function sample(prompt: string): string {
  const [, at] = /What is (\d) \+ 1/.exec(prompt) ?? [];
  const [, output] = /successfully:\n(\d)/.exec(prompt) ?? [];
  return output === undefined ? `\`\`\`python\nprint(${at} + 1)\n\`\`\`<|im_end|>` : `${output}<|im_end|>`;
}

async function writeTokenizer(): Promise<string> {
  const folder = await Deno.makeTempDir();
  const { tokenizer, config } = tinyTokenizerFiles();
  await Deno.writeTextFile(`${folder}/tokenizer.json`, JSON.stringify(tokenizer));
  await Deno.writeTextFile(`${folder}/tokenizer_config.json`, JSON.stringify(config));
  return folder;
}

Deno.test("paddock serve plays rollouts of clients with a model server, Python and tokens", async () => {
  const folder = await writeTokenizer();
  await using model = new FakeVllm({ tokenizer: await tinyTokenizer(), sample });
  await using other = new FakeVllm({ tokenizer: await tinyTokenizer(), sample, wire: "openai" });
  const [policy, withoutIds] = [`openai:${model.url}`, `openai:${other.url}`];
  await using server = await Serving.start(
    ...["--max-sessions", "2", "--rollout-policy", policy, "--rollout-policy", withoutIds],
    ...["--rollout-env", "python", "--rollout-tokenizer", folder, "--runs", `${folder}/runs`],
  );
  await using client = new PaddockClient({ url: server.url });
  const options = { policy, model: "m", tasks: TASKS, grader: "number_match" };
  const items = await Array.fromAsync(
    client.rollout({ ...options, samples: 2, weightVersion: 7, tokens: true }),
  );
  const rows = items.flatMap((item) => item.kind === "episode" && item.row ? [item.row] : []);
  assertEquals(rows.length, 12);
  for (const { status, reward, loss_mask, tool_calls, turns, errors } of rows) {
    assertEquals([status, reward, errors, tool_calls.map(({ status }) => status)], ["completed", 1, [], [
      "ok",
    ]]);
    assertEquals([loss_mask.includes(1), turns.map((turn) => turn.policy_version)], [true, [7, 7]]);
  }
  const groups = items.flatMap((item) =>
    item.kind === "group" ? [item.episodes.map(({ advantage }) => advantage)] : []
  );
  assertEquals(groups, TASKS.map(() => [0, 0]));
  const list = await (await fetch(`${server.url}/runs`)).text();
  const [, run = ""] = /href="(\/runs\/[^"]+\.jsonl)"/.exec(list) ?? [];
  const page = await (await fetch(`${server.url}${run}/episodes/1`)).text();
  for (const part of [">print</span>", "mask 1", "version 7", `class="badge ok"`]) {
    assertStringIncludes(page, part);
  }
  assertEquals(
    (await (await fetch(`${server.url}${run}/export.csv`)).text()).trimEnd().split("\r\n").length,
    13,
  );
  const others = [{ policy: "openai:http://127.0.0.1:9" }, { env: "chat" as const }];
  for (const other of others) {
    await assertRejects(
      () => Array.fromAsync(client.rollout({ ...options, ...other })),
      SandboxError,
      "must be one of",
    );
  }
  await assertRejects(
    () => Array.fromAsync(client.rollout({ policy, tasks: TASKS })),
    TypeError,
    "needs one",
  );
  await assertRejects(
    () => Array.fromAsync(client.rollout({ ...options, policy: withoutIds, tokens: true })),
    TypeError,
    "Cannot train with policy 'm'",
  );
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a client that leaves a rollout ends its requests to the model server", async () => {
  const asked = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  await using model = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    if (!request.url.endsWith("/generate")) return new Response(); // the abort of a reply
    request.signal.addEventListener("abort", () => cancelled.resolve());
    asked.resolve();
    return new Promise<Response>((resolve) => {
      request.signal.addEventListener("abort", () => resolve(new Response()));
    });
  });
  const policy = `sglang:http://127.0.0.1:${model.addr.port}`;
  await using server = await Serving.start("--rollout-policy", policy, "--rollout-env", "chat", "python");
  const leave = new AbortController();
  await using client = new PaddockClient({ url: server.url });
  const rollout = client.rollout({ policy, env: "chat", tasks: TASKS.slice(0, 1), signal: leave.signal });
  const items: Promise<RemoteRolloutItem[]> = Array.fromAsync(rollout);
  await asked.promise;
  leave.abort(new Error("left"));
  await assertRejects(() => items, Error, "left");
  await cancelled.promise;
  while (true) {
    const listed = await (await fetch(`${server.url}/v1/rollouts`)).json();
    if (listed.rollouts.length === 0) break;
  }
});

Deno.test("paddock serve refuses options of rollouts that do not fit", async () => {
  const cases: [string[], string][] = [
    [["--rollout-policy", "openai:http://127.0.0.1:1"], "give --rollout-env"],
    [["--rollout-env", "chat"], "give --rollout-policy"],
    [["--rollout-policy", "scripted", "--rollout-env", "chat"], "it must be a server"],
    [
      ["--rollout-policy", "openai:127.0.0.1:1", "--rollout-env", "chat"],
      "try --rollout-policy openai:http://127.0.0.1:1",
    ],
  ];
  for (const [options, text] of cases) {
    const { code, stderr } = await runPaddock(["serve", "--port", "0", ...options]);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, text);
  }
});
