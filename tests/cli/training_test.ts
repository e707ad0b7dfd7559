import { assertEquals, assertStringIncludes } from "@std/assert";
import { playTasks } from "../../src/cli/play_tasks.ts";
import { Summary } from "../../src/cli/summary.ts";
import { Training } from "../../src/cli/training.ts";
import { TrainingFile } from "../../src/cli/training_file.ts";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { InteractionResult } from "../../src/rollout/interaction_result.ts";
import { parseInteraction } from "../../src/rollout/parse_interaction.ts";
import { StepCounter } from "../../src/transforms/step_counter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { byteTokenizer } from "../byte_tokenizer.ts";
import { FakeServer } from "../policy/fake_server.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../tiny_tokenizer.ts";
import { FakeSink } from "./fake_sink.ts";
import { runPaddock } from "./run_paddock.ts";

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function resultsIn(path: string): Promise<InteractionResult[]> {
  const text = await Deno.readTextFile(path);
  return text.split("\n").filter((line) => line !== "").map((line) => parseInteraction(JSON.parse(line)));
}

Deno.test("paddock rollout --train-out writes what a server sampled, one line for each episode", () =>
  inFolder(async (folder) => {
    const tokenizer = await tinyTokenizer();
    const { tokenizer: model, config } = tinyTokenizerFiles();
    await Deno.writeTextFile(`${folder}/tokenizer.json`, JSON.stringify(model));
    await Deno.writeTextFile(`${folder}/tokenizer_config.json`, JSON.stringify(config));
    await Deno.writeTextFile(
      `${folder}/tasks.jsonl`,
      '{"query":"2+2?","answer":"4"}\n{"query":"2+3?","answer":"5"}\n',
    );
    const output_ids = tokenizer.encode("The answer is 4<|im_end|>");
    await using server = new FakeServer(() =>
      Response.json({
        text: "The answer is 4",
        output_ids,
        meta_info: {
          finish_reason: { type: "stop" },
          output_token_logprobs: output_ids.map((id) => [-0.5, id, null]),
        },
      })
    );
    const common = [
      "rollout",
      "--env",
      "chat",
      "--tasks",
      `${folder}/tasks.jsonl`,
      "--policy",
      `sglang:${server.url}`,
    ];
    const untold = await runPaddock([...common, "--train-out", `${folder}/x.jsonl`]);
    assertEquals(untold.code, 2);
    assertStringIncludes(untold.stderr, "give --tokenizer DIR");
    const train = ["--tokenizer", folder, "--train-out", `${folder}/x.jsonl`];
    const { code, stderr } = await runPaddock([...common, ...train]);
    assertEquals({ code, stderr }, { code: 0, stderr: "" });
    const results = await resultsIn(`${folder}/x.jsonl`);
    assertEquals(results.map(({ status, reward }) => [status, reward]), [["completed", 1], ["completed", 0]]);
    for (const { tokens, loss_mask, response_length, log_probs } of results) {
      const response = tokens.slice(-response_length);
      assertEquals(response.filter((_id, at) => loss_mask[at] === 1), output_ids);
      assertEquals(log_probs?.slice(0, output_ids.length), output_ids.map(() => -0.5));
    }
    const both = await runPaddock([...common, ...train, "--out", `${folder}/o.jsonl`, "--resume"]);
    assertEquals(both.code, 2);
    assertStringIncludes(both.stderr, "Cannot resume with two files");
    const again = await runPaddock([...common, ...train, "--resume"]);
    assertEquals(again.code, 0);
    assertEquals(server.seen.length, 2, "what is there is not played again");
  }));

const TASKS = '{"query":"a"}\n{"query":"b"}\n';

async function train(folder: string, policy: Policy, signal: AbortSignal, resume: boolean): Promise<number> {
  const tokenizer = byteTokenizer();
  await Deno.writeTextFile(`${folder}/tasks.jsonl`, TASKS);
  using file = await TrainingFile.open(`${folder}/train.jsonl`, { resume });
  return await playTasks({
    tasks: `${folder}/tasks.jsonl`,
    ...{ policy, signal, samples: 1, concurrency: 1, maxTurns: 3, summary: new Summary({ samples: 1 }) },
    training: new Training(file, { tokenizer, family: "chatml" }),
    makeEnv: () => new TransformedEnv(new ChatEnv(), [echo(), new StepCounter({ maxSteps: 3 })]),
    ...{ stdout: new FakeSink(), stderr: new FakeSink() },
  });
}

/** Answers each reply, as a user would. */
function echo() {
  return {
    step: (step: Parameters<NonNullable<StepCounter["step"]>>[0]) => ({
      ...step,
      history: { prompt: step.history.prompt.append({ role: "user", content: "go on" }) },
    }),
  };
}

Deno.test("an interrupted rollout keeps what its episodes had said, and goes on from there", () =>
  inFolder(async (folder) => {
    const stop = new AbortController();
    let asked = 0;
    const policy: Policy = {
      name: "counting",
      reply: (_history, { signal }) => {
        if (++asked === 5) stop.abort();
        signal?.throwIfAborted();
        return Promise.resolve(`reply ${asked}`);
      },
    };
    assertEquals(await train(folder, policy, stop.signal, false), 130);
    const before = await resultsIn(`${folder}/train.jsonl`);
    assertEquals(before.map(({ status, response }) => [status, response]), [
      ["truncated", "reply 1reply 2reply 3"],
      ["aborted", "reply 4"],
    ]);
    assertEquals(await train(folder, policy, AbortSignal.abort(), true), 130);
    assertEquals(
      await resultsIn(`${folder}/train.jsonl`),
      before,
      "who goes on and stops at once loses nothing",
    );
    assertEquals(await train(folder, policy, new AbortController().signal, true), 0);
    const after = await resultsIn(`${folder}/train.jsonl`);
    assertEquals(after.map(({ status, response }) => [status, response]), [
      ["truncated", "reply 1reply 2reply 3"],
      ["truncated", "reply 4reply 6reply 7"],
    ]);
  }));
