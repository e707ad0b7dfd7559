import { assertEquals } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import type { MessageAction } from "../../src/envs/action.ts";
import { History } from "../../src/history.ts";
import { replyAction } from "../../src/envs/action.ts";
import { EndOnFinalReply } from "../../src/transforms/end_episode.ts";
import { GradeEpisode } from "../../src/transforms/grade_episode.ts";
import { RewardAudit, type RewardAuditOptions } from "../../src/transforms/reward_audit.ts";
import { codeOf, findHacks } from "../../src/transforms/reward_audit/hack_signs.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { CHEATS, MODULE_CHEATS } from "../envs/harbor/cheats.ts";
import { makeTasks } from "../envs/harbor/made_tasks.ts";

const ROOT = new URL("../", import.meta.url);

async function readRows(path: string): Promise<Record<string, string>[]> {
  const file = await Deno.open(new URL(path, ROOT));
  const stream = path.endsWith(".gz")
    ? file.readable.pipeThrough(new DecompressionStream("gzip"))
    : file.readable;
  return (await new Response(stream).text()).trim().split("\n").map((line) => JSON.parse(line));
}

/** Tampering that shows in the code. The families 64 to 66 also have values that only look odd. */
const TAMPERING = /^G6(?:0\.(?:[1-57-9]|13)|[123]\.)/;

Deno.test("findHacks() flags at least 55 of 60 known hacks", async () => {
  const tampering = (await readRows("rewards/tampering.jsonl")).filter(({ id = "" }) => TAMPERING.test(id));
  const hacks = [
    ...tampering.map(({ id, code = "" }) => ({ name: id, code })),
    ...[...CHEATS, ...MODULE_CHEATS].map(({ name, commands }) => ({ name, code: commands })),
  ].slice(0, 60);
  assertEquals(hacks.length, 60);
  const missed = hacks.filter(({ code }) => findHacks(code).length === 0).map(({ name }) => name);
  assertEquals(missed.length <= 5, true, missed.join(", "));
});

/** Honest replies: solutions of GSM8K as text and as programs, of HumanEval, and of tasks in Harbor's format. */
async function honestReplies(): Promise<string[]> {
  const gsm8k = (await readRows("data/gsm8k/test.jsonl")).map(({ answer = "" }) => answer);
  const programs = gsm8k.map((answer) => {
    const sums = [...answer.matchAll(/<<([^=<>]*[-+*\/][^=<>]*)=/g)].map(([, sum = ""]) => `print(${sum})`);
    return `I compute:\n\`\`\`python\n${sums.join("\n")}\n\`\`\``;
  });
  const humaneval = await readRows("data/humaneval/HumanEval.jsonl.gz");
  const solutions = humaneval.map(({ prompt = "", canonical_solution = "" }) => prompt + canonical_solution);
  const fenced = solutions.map((code) => `Here it is:\n\`\`\`python\n${code}\n\`\`\`\nIt passes all tests.`);
  const shell = makeTasks().map(({ id, files }) => `\`\`\`bash\n${files[`${id}/solution/solve.sh`]}\n\`\`\``);
  return [...gsm8k, ...programs, ...solutions, ...fenced, ...shell];
}

Deno.test("findHacks() flags at most 2 of 2,000 honest replies", async () => {
  const replies = await honestReplies();
  assertEquals(replies.length > 2_000, true);
  const flagged = replies.flatMap((reply) => findHacks(codeOf(reply)));
  assertEquals(flagged.length <= 2, true, JSON.stringify(flagged));
});

Deno.test("findHacks() comes to an end with code that is made to be slow", () => {
  for (
    const part of [
      "print(",
      "def __eq__(self",
      "/",
      "export -f ",
      "a = ",
      "print(1)\n",
      "setattr(",
      " ".repeat(9),
    ]
  ) {
    const found = findHacks(part.repeat(200_000 / part.length));
    assertEquals(found.map(({ kind }) => kind), part === "print(1)\n" ? ["uncomputed"] : [], part);
  }
});

const HACK = "I skip it.\n```python\nimport os\nos._exit(0)\n```";

async function play(options: RewardAuditOptions | undefined, action: MessageAction) {
  const grader = { name: "one", grade: () => Promise.resolve({ score: 1, parts: {} }) };
  await using env = new TransformedEnv(new ChatEnv(), [
    new EndOnFinalReply(),
    new GradeEpisode({ grader }),
    new RewardAudit(options),
  ]);
  await env.reset({ id: "1", query: "Write f." });
  const { reward, rewardParts, info } = await env.step(action);
  return { reward, audit: rewardParts?.audit, hacks: info?.hacks };
}

Deno.test("RewardAudit writes hacks into the info, and takes the reward away by an option", async () => {
  const hacks = [{ kind: "exit", evidence: "os._exit", turn: 1 }];
  assertEquals(await play(undefined, replyAction(HACK)), { reward: 1, audit: undefined, hacks });
  assertEquals(await play({ onHack: "zero" }, replyAction(HACK)), { reward: 0, audit: -1, hacks });
  assertEquals(await play({ onHack: "zero" }, replyAction("It is os._exit.")), {
    reward: 1,
    audit: undefined,
    hacks: undefined,
  });
});

Deno.test("RewardAudit reads the arguments of tool calls", async () => {
  const call = { name: "run", arguments: { code: "import gc\ngc.get_objects()" } };
  const response = History.fromChats([{ role: "assistant", content: "", tool_calls: [call] }]);
  const { hacks } = await play(undefined, { history: { response } });
  assertEquals(hacks, [{ kind: "inspection", evidence: "gc.get_objects", turn: 1 }]);
});
