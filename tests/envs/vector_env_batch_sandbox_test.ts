import { assert, assertEquals } from "@std/assert";
import { loadProfile, SandboxPool } from "../../mod.ts";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { type Action, replyAction } from "../../src/envs/action.ts";
import { VectorEnv } from "../../src/envs/vector_env.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { CountingPool } from "../counting_pool.ts";

const SIZE = 64;
const TIMEOUT_MS = 5_000;
const LOOP = 7;
const BOMB = 31;

function program(index: number): string {
  if (index === LOOP) return "while True: pass";
  if (index === BOMB) return "held = []\nwhile True: held.append(bytearray(10_000_000))";
  return `print(${index} * ${index})`;
}

function python(code: string): Action {
  return replyAction(`\`\`\`python\n${code}\n\`\`\``);
}

Deno.test("VectorEnv steps 64 sandboxes with an endless loop and a memory bomb among them at the same time, and the other 62 are right", async () => {
  const profile = { ...await loadProfile("python"), sessionsPerProcess: 8 };
  await using pool = new SandboxPool({ profile, size: SIZE, resetMode: "rewind" });
  const counted = new CountingPool(pool);
  await using env = new VectorEnv({
    makeEnv: () =>
      new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool: counted, timeoutMs: TIMEOUT_MS })]),
    batchSize: SIZE,
  });
  await env.reset("q");
  const ready = await env.step(Array.from({ length: SIZE }, () => python("pass")));
  assertEquals(ready.map((outcome) => outcome?.error), new Array(SIZE).fill(undefined));

  counted.most = 0;
  const outcomes = await env.step(Array.from({ length: SIZE }, (_, index) => python(program(index))));

  const right = outcomes.filter((outcome, index) =>
    outcome?.step?.history.prompt.last?.content === `Code block 1 executed successfully:\n${index * index}\n`
  );
  const status = (index: number) => outcomes[index]?.step?.toolResults[0]?.status;
  assertEquals({ right: right.length, loop: status(LOOP) }, { right: SIZE - 2, loop: "timeout" });
  assert(status(BOMB) === "memory" || status(BOMB) === "timeout", status(BOMB));
  assertEquals(counted.most, SIZE);
});
