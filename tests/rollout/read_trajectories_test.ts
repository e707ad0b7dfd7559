import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { readTrajectories } from "../../src/rollout/read_trajectories.ts";
import { emptyTrajectory, type Trajectory } from "../../src/rollout/trajectory.ts";

async function read(content: string | Uint8Array): Promise<{ read: Trajectory[]; warnings: string[] }> {
  const path = await Deno.makeTempFile({ suffix: ".jsonl" });
  const warnings: string[] = [];
  const onWarning = (warning: string) => void warnings.push(warning.replace(path, "FILE"));
  try {
    await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
    return { read: await Array.fromAsync(readTrajectories(path, { onWarning })), warnings };
  } finally {
    await Deno.remove(path);
  }
}

const EPISODE: Trajectory = {
  ...emptyTrajectory({ id: "a", query: "q", answer: "1", fields: { level: 3 } }, { sample: 2, seed: 9 }),
  messages: [{ role: "user", content: "q" }, { role: "assistant", content: "é" }],
  reward: 0.5,
  rewardParts: { style: null },
  error: { boundary: "policy", name: "PolicyError", message: "down", fault: "unreachable" },
};

Deno.test("readTrajectories() returns the written trajectories", async () => {
  const line = JSON.stringify(EPISODE);
  assertEquals(await read(`${line}\n\n${line}\n`), { read: [EPISODE, EPISODE], warnings: [] });
});

Deno.test("readTrajectories() accepts lines with only a task and messages", async () => {
  const { read: [episode] } = await read('{"task":{"id":"a","query":"q"},"messages":[],"extra":{"x":1}}');
  const { task, reward, sample, turns, toolResults } = episode ?? EPISODE;
  assertEquals({ task, reward, sample, turns, toolResults }, {
    task: { id: "a", query: "q" },
    reward: null,
    sample: 1,
    turns: 0,
    toolResults: [],
  });
  assertEquals(Object.hasOwn(episode ?? {}, "extra"), true);
});

Deno.test("readTrajectories() drops an incomplete last line with a warning", async () => {
  const line = JSON.stringify(EPISODE);
  const bytes = new TextEncoder().encode(`${line}\n${line}`);
  const accent = bytes.lastIndexOf(0xc3);
  const warnings = ["The last line of FILE was cut off: line 2 is left out"];
  for (const cut of [bytes.length - 1, bytes.length - line.length + 1, accent + 1]) {
    const { read: episodes, warnings: given } = await read(bytes.slice(0, cut));
    assertEquals([episodes.length, given], [1, warnings]);
  }
  assertEquals((await read(bytes)).read.length, 2);
});

Deno.test("readTrajectories() skips damaged lines and reports them to onDamage", async () => {
  const line = JSON.stringify(EPISODE);
  const path = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    await Deno.writeTextFile(path, `${line}\n${line.slice(0, 40)}\n[]\n${line}\n`);
    const damages: string[] = [];
    const onDamage = ({ message }: SyntaxError) => void damages.push(message);
    assertEquals(await Array.fromAsync(readTrajectories(path, { onDamage })), [EPISODE, EPISODE]);
    assertEquals(damages.length, 2);
    assertStringIncludes(damages[0] ?? "", `Cannot read episode at ${path}:2: `);
    assertStringIncludes(damages[1] ?? "", `Cannot read episode at ${path}:3: `);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("readTrajectories() names the line that is not an episode, and why", async () => {
  const faults: [string, string][] = [
    ["{oops", ".jsonl:2: "],
    ["[]", ".jsonl:2: "],
    ['{"query":"q"}', "task: "],
    ['{"task":{"id":"a","query":"q"}}', "messages: "],
    ['{"task":{"id":"a","query":"q"},"messages":[{"role":"user"}]}', "Cannot take message 0"],
    ['{"task":{"id":"a","query":"q"},"messages":[],"reward":"1"}', "reward: "],
  ];
  for (const [line, says] of faults) {
    await assertRejects(() => read(`${JSON.stringify(EPISODE)}\n${line}\n`), SyntaxError, says);
  }
});
