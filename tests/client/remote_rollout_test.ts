import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { z } from "zod";
import { numberMatch, tool } from "../../mod.ts";
import { PaddockClient, type RemoteRolloutItem } from "../../mod/client.ts";
import { SandboxError } from "../../src/errors.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { type FakePython, ok } from "../fake_pool.ts";
import { type Served, served } from "../server/served.ts";

const TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
const graders = new Map([["number_match", () => numberMatch()]]);
const TASKS = [{ id: "a", query: "6 times 7?", answer: "42" }, { id: "b", query: "1 plus 1?", answer: 2 }];
const OPTIONS = { policy: "test", env: "chat", tasks: TASKS, concurrency: 1 } as const;

function serve(
  reply: Policy["reply"] = () => Promise.resolve("42"),
): { server: Served; client: PaddockClient } {
  const policies = new Map([["test", () => ({ reply })]]);
  const offer = { policies, envs: ["chat"] as const, tokenizer: byteTokenizer({ chatTemplate: TEMPLATE }) };
  const server = served({ graders, offer });
  const fetch = async (request: Request) => await server.app.fetch(request);
  return { server, client: new PaddockClient({ url: "http://127.0.0.1:8471", fetch, retries: 0 }) };
}

function label(item: RemoteRolloutItem): string {
  if (item.kind === "group") return `group ${item.group} ${item.episodes.map(({ advantage }) => advantage)}`;
  return `${item.kind} ${item.trajectory?.task.id} ${item.trajectory?.reward}`;
}

Deno.test("PaddockClient.rollout() yields episodes and advantages, whose turns have the version that was set", async () => {
  const { server, client } = serve();
  await using _server = server;
  await using _client = client;
  const rollout = client.rollout({ ...OPTIONS, grader: "number_match", weightVersion: 1, maxWaiting: 0 });
  const labels: string[] = [];
  const versions: unknown[] = [];
  for await (const item of rollout) {
    labels.push(label(item));
    if (item.kind === "group") await rollout.setWeightVersion("next");
    else versions.push(item.trajectory?.steps[0]?.policyVersion);
  }
  assertEquals(labels, ["episode a 1", "group a 0", "episode b 0", "group b 0"]);
  assertEquals(versions[0], 1);
  assertEquals(server.rollouts.list(""), []);
  await assertRejects(() => Array.fromAsync(rollout), TypeError, "read before");
  await Promise.all([rollout.setWeightVersion(3), rollout.stop()]); // it has ended
});

Deno.test("a rollout lets code call tools of the server", async () => {
  const search = tool({
    name: "search",
    description: "Searches.",
    parameters: z.object({}),
    run: () => "found",
  });
  const python: FakePython = async (_code, _globals, { tools: [first] = [], signal }) => {
    const value = await first?.run({}, { signal: signal ?? new AbortController().signal });
    return ok((value as { json?: string })?.json);
  };
  const replies = ["```python\ntools.search()\n```", "done"];
  const policy = { name: "test", reply: () => Promise.resolve(replies.shift() ?? "") };
  const offer = { policies: new Map([["test", () => policy]]), envs: ["python" as const] };
  await using server = served({ python, tools: [search], offer });
  const fetch = async (request: Request) => await server.app.fetch(request);
  await using client = new PaddockClient({ url: "http://127.0.0.1:8471", fetch, retries: 0 });
  const tasks = [{ id: "a", query: "q" }];
  const options = { policy: "test", tasks, env: "python", tools: ["search"], toolCallers: ["code"] } as const;
  const [episode] = await Array.fromAsync(client.rollout(options));
  assertEquals(episode?.kind, "episode");
  const text = JSON.stringify(episode);
  assertStringIncludes(text, '"caller":"code"');
  assertStringIncludes(text, '"tool":"search"');
});

Deno.test("a rollout with tokens yields rows, and ends when it is stopped", async () => {
  let replies = 0;
  const waiting = Promise.withResolvers<void>();
  const { server, client } = serve((_, { signal }) => {
    if (++replies !== 2) return Promise.resolve(`${replies}`);
    waiting.resolve();
    return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  });
  await using _server = server;
  await using _client = client;
  const options = { ...OPTIONS, tokens: true, partial: true, concurrency: 2 };
  const rollout = client.rollout(options);
  const items = Array.fromAsync(rollout);
  await waiting.promise;
  await rollout.stop();
  const kinds = (await items).map(({ kind }) => kind);
  assertEquals(kinds.filter((kind) => kind === "episode").length, 1);
  const [row] = (await items).flatMap((item) => item.kind === "episode" && item.row ? [item.row] : []);
  assertEquals([row?.status, row?.response, row?.loss_mask.includes(1)], ["completed", "1", true]);
});

Deno.test("leaving the loop of a rollout ends it on the server", async () => {
  const { server, client } = serve();
  await using _server = server;
  await using _client = client;
  const tasks = Array.from({ length: 500 }, (_, at) => ({ id: `${at}`, query: "?" }));
  for await (const item of client.rollout({ ...OPTIONS, tasks, maxWaiting: 1 })) {
    assertEquals(item.kind, "episode");
    break;
  }
  while (server.rollouts.list("").length > 0) await new Promise((resolve) => setTimeout(resolve, 0));
});

Deno.test("a rollout that the server refuses, or that is cut, is an error", async () => {
  const { server, client } = serve();
  await using _server = server;
  await using _client = client;
  await assertRejects(
    () => Array.fromAsync(client.rollout({ ...OPTIONS, policy: "openai:http://10.0.0.1" })),
    SandboxError,
    "policy must be one of test",
  );
  await assertRejects(() => Array.fromAsync(client.rollout({ ...OPTIONS, tasks: [] })), TypeError, "tasks");
  const events = 'event: start\ndata: {"id":"x"}\n\n';
  const fetch = () => new Response(events, { headers: { "content-type": "text/event-stream" } });
  await using cut = new PaddockClient({ url: "http://127.0.0.1:8471", fetch });
  await assertRejects(
    () => Array.fromAsync(cut.rollout(OPTIONS)),
    SandboxError,
    "ended before the last event",
  );
  const stopped = AbortSignal.abort(new Error("stopped"));
  await assertRejects(
    () => Array.fromAsync(client.rollout({ ...OPTIONS, signal: stopped })),
    Error,
    "stopped",
  );
});
