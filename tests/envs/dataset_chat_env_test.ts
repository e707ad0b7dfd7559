import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { ChatEnv, DatasetChatEnv, type DatasetChatEnvOptions } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import type { ResetOutcome } from "../../src/envs/vector_env.ts";
import { EndOnFinalReply } from "../../src/transforms/end_episode.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { toJsonLines, withFiles } from "../datasets/temp_files.ts";
import { FakePool, ok } from "../fake_pool.ts";

const ROWS = Array.from({ length: 5 }, (_, n) => ({ query: `q${n}`, answer: `${n}`, level: n }));

function queriesOf(outcomes: readonly ResetOutcome[]): unknown[] {
  return outcomes.map(({ observation, error }) =>
    error?.message ?? observation?.history.prompt.last?.content
  );
}

function inOrder(options: Partial<DatasetChatEnvOptions> = {}): DatasetChatEnv {
  return new DatasetChatEnv({ dataset: ROWS, shuffle: false, ...options });
}

Deno.test("DatasetChatEnv plays the rows of its dataset, and keeps their fields on the task", async () => {
  await using env = inOrder({ numEnvs: 2, systemPrompt: "s" });
  const [first] = await env.reset();
  assertEquals(first?.observation?.history.prompt.toChats(), [
    { role: "system", content: "s" },
    { role: "user", content: "q0" },
  ]);
  assertEquals(first?.observation?.task, { id: "item:1", query: "q0", answer: "0", fields: { level: 0 } });
  const [outcome] = await env.step([replyAction("a"), replyAction("b")]);
  assertEquals(outcome?.step?.task, first?.observation?.task);
});

Deno.test("DatasetChatEnv takes rows in order and without end, one for each element of the mask", async () => {
  await using env = inOrder({ numEnvs: 2 });
  assertEquals(queriesOf(await env.reset()), ["q0", "q1"]);
  assertEquals(queriesOf(await env.reset({ mask: [false, true] })), ["q0", "q2"]);
  assertEquals(queriesOf(await env.reset()), ["q3", "q4"]);
  assertEquals(queriesOf(await env.reset()), ["q0", "q1"]);
});

Deno.test("DatasetChatEnv multiplies its batch by 'samples' for 'groupSamples', with groups adjacent", async () => {
  await using env = inOrder({ numEnvs: 2, samples: 3, groupSamples: true });
  assertEquals({ batchSize: env.batchSize, size: env.size }, { batchSize: [6], size: 6 });
  assertEquals(queriesOf(await env.reset()), ["q0", "q0", "q0", "q1", "q1", "q1"]);
  assertEquals(inOrder({ numEnvs: [2, 2], samples: 3, groupSamples: true }).batchSize, [2, 6]);
  assertEquals(inOrder({ numEnvs: 2, samples: 3 }).batchSize, [2]);
});

Deno.test("DatasetChatEnv.resetDataloader() rewinds the dataset and returns the env", async () => {
  for (const shuffle of [false, true]) {
    await using env = inOrder({ numEnvs: 2, shuffle });
    const first = queriesOf(await env.reset());
    await env.reset();
    assertEquals(env.resetDataloader() === env, true);
    assertEquals(queriesOf(await env.reset()), first);
  }
});

Deno.test("DatasetChatEnv shuffles by its seed, in a different order in each pass", async () => {
  const dataset = Array.from({ length: 50 }, (_, n) => ({ query: `q${n}` }));
  const orders = async (seed: number) => {
    await using env = new DatasetChatEnv({ dataset, seed, numEnvs: 50 });
    return [queriesOf(await env.reset()), queriesOf(await env.reset())];
  };
  const [first, second] = await orders(1);
  assertNotEquals(first, second);
  assertEquals(first?.toSorted(), second?.toSorted());
  assertEquals(await orders(1), [first, second]);
  assertNotEquals(await orders(2), [first, second]);
});

Deno.test("DatasetChatEnv reads a folder, with its train split by default", async () => {
  const files = { "d/train.jsonl": toJsonLines({ text: "a" }), "d/test.csv": "question\nb\n" };
  await withFiles(files, async (folder) => {
    await using train = new DatasetChatEnv({ dataset: `${folder}/d` });
    assertEquals(queriesOf(await train.reset()), ["a"]);
    await using test = new DatasetChatEnv({ dataset: `${folder}/d`, split: "test", dataKey: "question" });
    assertEquals(queriesOf(await test.reset()), ["b"]);
  });
});

Deno.test("DatasetChatEnv fails only the element whose row is invalid", async () => {
  const rows = `${toJsonLines({ query: "a" })}[1]\n{"query":\n${toJsonLines({ query: "b" })}`;
  await withFiles({ "d.jsonl": rows }, async (folder) => {
    await using env = new DatasetChatEnv({ dataset: `${folder}/d.jsonl`, shuffle: false, numEnvs: 4 });
    const outcomes = await env.reset();
    assertEquals(outcomes.map(({ error }) => error?.boundary), [undefined, "dataset", "dataset", undefined]);
    assertStringIncludes(outcomes[1]?.error?.message ?? "", "d.jsonl:2: Invalid input");
    assertStringIncludes(outcomes[2]?.error?.message ?? "", "d.jsonl:3 as it must be JSON");
    assertEquals(queriesOf(await env.reset({ mask: [false, true, false, false] }))[1], "a");
  });
});

Deno.test("DatasetChatEnv reports a file that is missing or invalid", async () => {
  await withFiles({ "d.parquet": "PAR1 broken" }, async (folder) => {
    for (const [name, says] of [["no.jsonl", "No such file"], ["d.parquet", "must be Parquet"]] as const) {
      await using env = new DatasetChatEnv({ dataset: `${folder}/${name}`, numEnvs: 2 });
      for (const { error } of await env.reset()) {
        assertEquals(error?.boundary, "dataset");
        assertStringIncludes(error?.message ?? "", says);
      }
    }
  });
});

Deno.test("DatasetChatEnv.stepAndMaybeReset() takes the next row where an episode has ended", async () => {
  const ending = (_index: number, options: object) => {
    return new TransformedEnv(new ChatEnv(options), [
      { step: (step) => ({ ...step, terminated: step.history.prompt.last?.content === "ends" }) },
    ]);
  };
  await using env = inOrder({ numEnvs: 3, makeEnv: ending, systemPrompt: "s" });
  await env.reset();
  const { next } = await env.stepAndMaybeReset(["ends", "goes on", "ends"].map(replyAction));
  assertEquals(queriesOf(next), ["q3", "goes on", "q4"]);
  assertEquals(next.map(({ observation }) => observation?.history.prompt.length), [2, 3, 2]);
});

Deno.test("DatasetChatEnv.stepAndMaybeReset() retries an element after an invalid row, and starts none outside its mask", async () => {
  const rows = [...["a", "b"].map((query) => ({ query })), { bad: 1 }, { bad: 2 }];
  const dataset = [...rows, ...["c", "d", "e"].map((query) => ({ query }))];
  const makeEnv = () => new TransformedEnv(new ChatEnv(), [new StepCounter({ maxSteps: 1 })]);
  await using env = new DatasetChatEnv({ dataset, shuffle: false, numEnvs: 2, makeEnv });
  await env.reset();
  const step = (mask?: boolean[]) => {
    const actions = env.observations.map((observation) => observation && replyAction("x"));
    return env.stepAndMaybeReset(actions, { mask });
  };
  const failed = await step();
  assertEquals(failed.next.map(({ error }) => error?.boundary), ["dataset", "dataset"]);
  const partly = await step([true, false]);
  assertEquals(partly.steps, [null, null]);
  assertEquals(partly.next.map(({ observation }) => observation?.task.query), ["c", undefined]);
  const both = await step();
  assertEquals(both.next.map(({ observation }) => observation?.task.query), ["d", "e"]);
});

Deno.test("DatasetChatEnv.reset() applies its mask to all transforms: no other interpreter restarts", async () => {
  const pool = new FakePool((_code, globals) => {
    globals.set("n", (globals.get("n") ?? 0) + 1);
    return ok(`${globals.get("n")}`);
  });
  const makeEnv = () =>
    new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool }), new EndOnFinalReply()]);
  await using env = inOrder({ numEnvs: 2, makeEnv });
  const code = replyAction("```python\nx\n```");
  await env.reset();
  await env.step([code, code]);
  await env.reset({ mask: [true, false] });
  const outcomes = await env.step([code, code]);
  assertEquals(outcomes.map((outcome) => outcome?.step?.history.prompt.last?.content), [
    "Code block 1 executed successfully:\n1",
    "Code block 1 executed successfully:\n2",
  ]);
});

class Riddles extends DatasetChatEnv {
  static override readonly SYSTEM_PROMPT = "Solve the riddle.";

  constructor(options: Partial<DatasetChatEnvOptions> = {}) {
    super({ dataset: ROWS, ...options });
  }
}

Deno.test("DatasetChatEnv uses its class's system prompt by default", async () => {
  const systems = async (env: DatasetChatEnv) => {
    await using owned = env;
    return (await owned.reset()).map(({ observation }) =>
      observation?.history.prompt.slice(0, 1).last?.content
    );
  };
  assertEquals(await systems(new Riddles()), ["Solve the riddle."]);
  assertEquals(await systems(new Riddles({ systemPrompt: "own" })), ["own"]);
});

Deno.test("DatasetChatEnv.fromDataloader() plays the items of any loader in their order", async () => {
  await using env = DatasetChatEnv.fromDataloader([[{ text: "a" }, { text: "b" }], { text: "c" }], {
    batchSize: [2, 1],
    samples: 2,
    groupSamples: true,
  });
  assertEquals(env.batchSize, [2, 2]);
  assertEquals(queriesOf(await env.reset()), ["a", "a", "b", "b"]);
  await using made = DatasetChatEnv.fromDataloader((pass) => [{ query: `pass ${pass}` }]);
  assertEquals([queriesOf(await made.reset()), queriesOf(await made.reset())], [["pass 0"], ["pass 1"]]);
});

Deno.test("ChatEnv.fromDataloader() makes a batch of chats over any loader, in its order and without end", async () => {
  const rows = Array.from({ length: 5 }, (_, index) => ({ query: `q${index}`, answer: index }));
  await using env = ChatEnv.fromDataloader(rows, { batchSize: [2], systemPrompt: "Be brief." });
  assert(env instanceof DatasetChatEnv);
  const passes = [];
  for (let reset = 0; reset < 4; reset++) passes.push(queriesOf(await env.reset()));
  assertEquals(passes, [["q0", "q1"], ["q2", "q3"], ["q4", "q0"], ["q1", "q2"]]);
  const [first] = await env.reset();
  assertEquals(first?.observation?.history.prompt.toChats()[0], { role: "system", content: "Be brief." });
  assertEquals(first?.observation?.task.answer, "3");
  assertEquals(queriesOf(await env.resetDataloader().reset()), ["q0", "q1"]);
});

Deno.test("ChatEnv.fromDataloader() repeats each task, together or one after the other", async () => {
  const rows = [{ query: "a" }, { query: "b" }];
  await using serial = ChatEnv.fromDataloader(rows, { samples: 2 });
  const queries = [];
  for (let reset = 0; reset < 4; reset++) queries.push(...queriesOf(await serial.reset()));
  assertEquals(queries, ["a", "a", "b", "b"]);
  await using grouped = ChatEnv.fromDataloader(rows, { batchSize: 2, samples: 2, groupSamples: true });
  assertEquals([grouped.size, queriesOf(await grouped.reset())], [4, ["a", "a", "b", "b"]]);
  assertThrows(() => ChatEnv.fromDataloader(rows, { batchSize: 0 }), RangeError, "'batchSize'");
  await using key = ChatEnv.fromDataloader([{ question: "x", answer: "1" }], { dataKey: "question" });
  assertEquals(queriesOf(await key.reset()), ["x"]);
});

Deno.test("DatasetChatEnv says for a hub's name that data sets are local files, and how to get one", async () => {
  const errorOf = async (dataset: string) => {
    await using env = new DatasetChatEnv({ dataset, shuffle: false });
    const [outcome] = await env.reset();
    return String(outcome?.error?.message);
  };
  for (const prefix of ["", "hf://datasets/", "https://huggingface.co/datasets/"]) {
    const message = await errorOf(`${prefix}openai/gsm8k`);
    assertStringIncludes(message, `Cannot open dataset as '${prefix}openai/gsm8k' must be a file or folder`);
    assertStringIncludes(
      message,
      ". Data sets are local files: get one of a hub first, such as by 'hf download openai/gsm8k --repo-type dataset " +
        "--local-dir gsm8k', and give its folder",
    );
  }
  const others = [["gsm8k", "gsm8k "], ["hf:openai/gsm8k", "openai/gsm8k "], [
    "openai/gsm8k@main",
    "openai/gsm8k ",
  ], [
    "hf://datasets/openai/gsm8k@v1.0",
    "openai/gsm8k ",
  ]] as const;
  for (const [dataset, name] of others) {
    const message = await errorOf(dataset);
    const [, revision] = dataset.split("@");
    const option = revision === undefined ? "" : `--revision ${revision} `;
    assertStringIncludes(message, `'hf download ${name}--repo-type dataset ${option}--local-dir gsm8k'`);
  }
  for (
    const path of ["./none/here", "/none/here", "none/here.jsonl", "none.json", "none.csv.gz", "../none"]
  ) {
    const message = await errorOf(path);
    assertMatch(message, /must be a file or folder: No such file/);
    assert(!message.includes("hub"), message);
  }
});

Deno.test("DatasetChatEnv gives no hint about a hub if only the configuration of a folder is missing", async () => {
  await using env = new DatasetChatEnv({ dataset: "docs", name: "main" });
  const [outcome] = await env.reset();
  const message = String(outcome?.error?.message);
  assertStringIncludes(message, "'docs/main' must be a file or folder");
  assert(!message.includes("hub"), message);
});

Deno.test("ChatEnv.fromDataloader() and DatasetChatEnv refuse what has no rows, at the call", () => {
  for (const value of [null, undefined, 3, {}, true]) {
    assertThrows(
      () => ChatEnv.fromDataloader(value as never),
      TypeError,
      "Cannot load rows as the dataset must be",
    );
    assertThrows(() => new DatasetChatEnv({ dataset: value as never }), TypeError, "Cannot load rows");
  }
});

Deno.test("DatasetChatEnv rejects numbers out of range", () => {
  assertThrows(() => inOrder({ numEnvs: [] }), RangeError, "must have at least one dimension");
  assertThrows(() => inOrder({ numEnvs: 0, groupSamples: true }), RangeError, "'batchSize'");
  assertThrows(() => inOrder({ samples: -1 }), RangeError, "'samples'");
  assertThrows(() => inOrder({ batchSizeDl: 0 }), RangeError, "'batchSizeDl'");
});
