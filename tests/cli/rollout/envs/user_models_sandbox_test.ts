import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { TauBenchDomain } from "../../../../src/envs/tau_bench/tau_bench_domain.ts";
import { type InteractionResult, parseInteraction } from "../../../../src/rollout/interaction_result.ts";
import { seededRandom } from "../../../../src/seeded_random.ts";
import type { UserStrategyName } from "../../../../src/users/llm_user.ts";
import { completion, FakeServer, type SeenRequest } from "../../../policy/fake_server.ts";
import { FakeVllm } from "../../../policy/fake_vllm.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../../../tiny_tokenizer.ts";
import { runPaddock } from "../../run_paddock.ts";

const DESK = decodeURIComponent(new URL("../../../../examples/library_desk", import.meta.url).pathname);
const WRONG = "I forgot what I wanted.";

/** A task of the desk, with the lines of its user and the replies of its agent. */
interface DeskTask {
  readonly instruction: string;
  readonly lines: readonly string[];
  readonly replies: readonly string[];
}

async function readDesk(): Promise<DeskTask[]> {
  const [lines, replies] = await Promise.all(["users", "policy"].map(async (name) => {
    const rows = (await Deno.readTextFile(`${DESK}/${name}.jsonl`)).trim().split("\n").map((row) =>
      JSON.parse(row)
    );
    return new Map<string, string[]>(rows.map(({ id, replies }) => [id, replies]));
  }));
  await using domain = await TauBenchDomain.open({ path: DESK, domain: "library_desk" });
  return domain.tasks("test").map(({ instruction }, index) => {
    const id = `library_desk/test/${index}`;
    return { instruction, lines: lines?.get(id) ?? [], replies: replies?.get(id) ?? [] };
  });
}

const desk = await readDesk();

/** Returns the task whose instruction is in the text. No instruction is part of another one. */
function taskOf(text: string): DeskTask | undefined {
  return desk.find(({ instruction }) => text.includes(instruction));
}

/**
 * Plays the users of all tasks as a model of chat completions does, which sees its own conversation only. With a judge it
 * first says a wrong line on each turn, which the judge rejects.
 */
function userReply(
  { body: { messages } }: SeenRequest,
  strategy: UserStrategyName,
  tried: Set<string>,
): string {
  const [{ content: system }, ...rest] = messages;
  if (system.startsWith("You judge")) {
    return `Classification: ${rest[0].content.endsWith(`Line: ${WRONG}`) ? "false" : "true"}`;
  }
  const isCorrection = system.startsWith("The line is not");
  const task = taskOf(isCorrection ? rest[0].content : system);
  if (task === undefined) throw new Error(`no task fits ${system}`);
  const said = isCorrection
    ? rest[0].content.split("\nCustomer: ").length - 1
    : rest.filter(({ role }: { role: string }) => role === "assistant").length;
  const line = task.lines[said] ?? "";
  if (isCorrection) return `Reflection: The instruction says it.\nResponse: ${line}`;
  if (strategy === "react") return `Thought: I must go on.\nUser Response: ${line}`;
  const turn = JSON.stringify([task.instruction, said]);
  if (strategy === "llm" || tried.has(turn)) return line;
  tried.add(turn);
  return WRONG;
}

/** Continues the episode of a prompt as the agent of the task does. The prompt must not have the user's instruction. */
function agentReply(prompt: string): string {
  assertEquals(taskOf(prompt), undefined);
  const task = desk.find(({ lines: [first] }) => prompt.includes(`<|im_start|>user\n${first}<|im_end|>`));
  const turn = prompt.split("<|im_start|>assistant\n").length - 2;
  return `${task?.replies[turn] ?? "I cannot help."}<|im_end|>`;
}

/** Plays the tasks with servers of both models, as processes of their own see them. */
async function play(
  user: FakeServer,
  strategy: UserStrategyName,
  ...options: string[]
): Promise<{ code: number; rows: InteractionResult[]; prompts: number[][] }> {
  const folder = await Deno.makeTempDir();
  try {
    const { tokenizer, config } = tinyTokenizerFiles();
    await Deno.writeTextFile(`${folder}/tokenizer.json`, JSON.stringify(tokenizer));
    await Deno.writeTextFile(`${folder}/tokenizer_config.json`, JSON.stringify(config));
    await using agent = new FakeVllm({
      tokenizer: await tinyTokenizer(),
      wire: "sglang",
      sample: agentReply,
    });
    const { code, stderr } = await runPaddock([
      ...["rollout", "--env", "tau-bench", "--path", DESK, "--domain", "library_desk", "--concurrency", "2"],
      ...["--policy", `sglang:${agent.url}`, "--tokenizer", folder, "--train-out", `${folder}/train.jsonl`],
      ...["--user", `openai:${user.url}`, "--user-model", "m", "--user-strategy", strategy, ...options],
    ]);
    assertEquals(stderr, "");
    const text = await Deno.readTextFile(`${folder}/train.jsonl`);
    const rows = text.trim().split("\n").map((line) => parseInteraction(JSON.parse(line)));
    return { code, rows, prompts: agent.served.map(({ promptIds }) => [...promptIds]) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const strategy of ["llm", "react", "verify", "reflection"] as const) {
  Deno.test(`paddock rollout --env tau-bench solves all tasks with a user model, strategy ${strategy}`, async () => {
    const { decode } = await tinyTokenizer();
    const tried = new Set<string>();
    await using user = new FakeServer((request) =>
      completion({ content: userReply(request, strategy, tried) })
    );
    const { code, rows } = await play(user, strategy);
    assertEquals([code, rows.length], [0, desk.length]);
    for (const { status, reward, errors, task_id, messages, tokens, loss_mask } of rows) {
      assertEquals([status, reward, errors], ["completed", 1, []], task_id);
      const { lines = [], replies = [] } = desk[Number(task_id.split("/").at(-1))] ?? {};
      const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
      assertEquals(said.slice(0, -1), lines.slice(0, said.length - 1));
      const response = tokens.slice(-loss_mask.length);
      const sampled = decode(response.filter((_, at) => loss_mask[at] === 1));
      assertEquals(sampled, replies.map((reply) => `${reply}<|im_end|>`).join(""));
    }
    const judged = user.seen.filter(({ body }) => body.messages[0].content.startsWith("You judge")).length;
    assertEquals(judged > 0, strategy === "verify" || strategy === "reflection");
  });
}

Deno.test("paddock rollout --env tau-bench ends only the episode whose user model fails", async () => {
  const [, failing] = desk;
  await using user = new FakeServer((request) =>
    taskOf(request.body.messages[0].content) === failing
      ? Response.json({ error: { message: "context too long" } }, { status: 400 })
      : completion({ content: userReply(request, "llm", new Set()) })
  );
  const { code, rows } = await play(user, "llm", "--limit", "3");
  assertEquals(code, 1);
  const ends = rows.map((
    { task_id, status, reward, errors },
  ) => [task_id, status, reward, errors[0]?.boundary]);
  assertEquals(ends.sort(), [
    ["library_desk/test/0", "completed", 1, undefined],
    ["library_desk/test/1", "aborted", null, "user"],
    ["library_desk/test/2", "completed", 1, undefined],
  ]);
});

Deno.test("paddock rollout --env tau-bench truncates episodes whose user model says random text", async () => {
  const random = seededRandom(7);
  const characters = [
    "#STOP",
    "<tool_call>",
    "<|im_end|>",
    "Thought:",
    "User Response:",
    "\n",
    "\u0000",
    "雨",
    "x",
  ];
  const babble = () =>
    Array.from({ length: 40 }, () => characters[Math.floor(random() * characters.length)]).join("");
  await using user = new FakeServer(() => completion({ content: babble() }));
  const { code, rows, prompts } = await play(user, "react", "--max-turns", "5");
  assertEquals([code, rows.length, prompts.length], [0, desk.length, 5 * desk.length]);
  for (const { status, errors, turns } of rows) {
    assertEquals([status, errors, turns.length], ["truncated", [], 5]);
  }
  assert(user.seen.length >= 5 * desk.length);
  assertStringIncludes(user.seen[0]?.body.messages[0].content, "Thought: <what you think>");
});
