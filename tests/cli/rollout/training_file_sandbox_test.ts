import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { playTasks } from "../../../src/cli/rollout/task_run.ts";
import { Summary } from "../../../src/cli/rollout/report/summary.ts";
import { TrainingFile, TrainingRun } from "../../../src/cli/rollout/training_file.ts";
import { TrajectoryFile } from "../../../src/cli/rollout/trajectory_file.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { ChatEnv } from "../../../src/envs/chat_env.ts";
import type { Env } from "../../../src/envs/env.ts";
import { SandboxError, UserError } from "../../../src/errors.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { type InteractionResult, parseInteraction } from "../../../src/rollout/interaction_result.ts";
import { readTrajectories } from "../../../src/rollout/read_trajectories.ts";
import { StepCounter } from "../../../src/transforms/step_counter.ts";
import type { Transform } from "../../../src/transforms/transform.ts";
import { TransformedEnv } from "../../../src/transforms/transformed_env.ts";
import { byteTokenizer } from "../../byte_tokenizer.ts";
import { FakeServer } from "../../policy/fake_server.ts";
import { FakeVllm, type FakeVllmOptions } from "../../policy/fake_vllm.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../../tiny_tokenizer.ts";
import { FakeSink } from "../fake_sink.ts";
import { runPaddock } from "../run_paddock.ts";

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

Deno.test("paddock rollout --train-out trains with openai:URL if its server returns token ids, else refuses", () =>
  inFolder(async (folder) => {
    const tokenizer = await tinyTokenizer();
    const { tokenizer: model, config } = tinyTokenizerFiles();
    await Deno.writeTextFile(`${folder}/tokenizer.json`, JSON.stringify(model));
    await Deno.writeTextFile(`${folder}/tokenizer_config.json`, JSON.stringify(config));
    await Deno.writeTextFile(`${folder}/tasks.jsonl`, '{"query":"2+2?","answer":"4"}\n');
    const train = async (wire: FakeVllmOptions["wire"]) => {
      await using server = new FakeVllm({ tokenizer, wire, sample: () => "The answer is 4<|im_end|>" });
      const files = ["--tasks", `${folder}/tasks.jsonl`, "--tokenizer", folder, "--force"];
      const policy = ["--policy", `openai:${server.url}`, "--model", "m"];
      const args = ["rollout", "--env", "chat", ...files, ...policy, "--train-out", `${folder}/x.jsonl`];
      return { ...await runPaddock(args), served: server.served };
    };
    const trained = await train("vllm");
    assertEquals([trained.code, trained.stderr], [0, ""]);
    const [result] = await resultsIn(`${folder}/x.jsonl`);
    const { promptIds = [], ids = [] } = trained.served.at(-1) ?? {};
    assertEquals(result?.tokens.slice(0, promptIds.length + ids.length), [...promptIds, ...ids]);
    assertEquals([result?.reward, result?.status, result?.errors], [1, "completed", []]);
    const refused = await train("openai");
    assertEquals([refused.code, refused.served.length], [2, 1]);
    assertStringIncludes(refused.stderr, "Cannot train with policy 'm'");
    assertStringIncludes(refused.stderr, "--policy sglang:URL");
    assertEquals((await resultsIn(`${folder}/x.jsonl`)).length, 1, "the file is kept");
  }));

Deno.test("paddock rollout --train-out writes the tokens that a server sampled, one line per episode", () =>
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
      "--concurrency", // both files have the episodes in the order of the tasks
      "1",
    ];
    const untold = await runPaddock([...common, "--train-out", `${folder}/x.jsonl`]);
    assertEquals(untold.code, 2);
    assertStringIncludes(untold.stderr, "give --tokenizer DIR");
    const train = ["--tokenizer", folder, "--train-out", `${folder}/x.jsonl`, "--calls", "mistral"];
    const { code, stderr } = await runPaddock([...common, ...train]);
    assertEquals({ code, stderr }, { code: 0, stderr: "" });
    const results = await resultsIn(`${folder}/x.jsonl`);
    assertEquals(results.map(({ status, reward }) => [status, reward]), [["completed", 1], ["completed", 0]]);
    for (const { tokens, loss_mask, response_length, log_probs } of results) {
      const response = tokens.slice(-response_length);
      assertEquals(response.filter((_id, at) => loss_mask[at] === 1), output_ids);
      assertEquals(log_probs?.slice(0, output_ids.length), output_ids.map(() => -0.5));
    }
    const again = await runPaddock([...common, ...train, "--resume"]);
    assertEquals(again.code, 0);
    assertEquals(server.seen.length, 2, "what is there is not played again");
    const [start, end, ...others] = model.added_tokens;
    const swapped = [{ ...end, id: start?.id }, { ...start, id: end?.id }, ...others];
    await Deno.mkdir(`${folder}/other`);
    await Deno.writeTextFile(
      `${folder}/other/tokenizer.json`,
      JSON.stringify({ ...model, added_tokens: swapped }),
    );
    await Deno.writeTextFile(`${folder}/other/tokenizer_config.json`, JSON.stringify(config));
    const other = await runPaddock([...common, ...train, "--tokenizer", `${folder}/other`, "--resume"]);
    assertEquals([other.code, server.seen.length], [2, 2]);
    assertStringIncludes(other.stderr, "its tokens must be those of tokenizer");
    const out = ["--out", `${folder}/o.jsonl`];
    const both = await runPaddock([...common, ...train, ...out, "--resume"]);
    assertEquals([both.code, server.seen.length], [0, 4], "what one file lacks is played for it");
    assertEquals(server.seen.at(-1)?.body.sampling_params, {
      max_new_tokens: 4096,
      skip_special_tokens: false,
    });
    assertEquals(await resultsIn(`${folder}/x.jsonl`), results);
    await Deno.remove(`${folder}/x.jsonl`);
    const filled = await runPaddock([...common, ...train, ...out, "--resume"]);
    assertEquals([filled.code, server.seen.length], [0, 4], "what the other file holds is taken from there");
    assertStringIncludes(filled.stdout, "2 (2 of an earlier run)");
    assertEquals(
      (await resultsIn(`${folder}/x.jsonl`)).map(({ tokens }) => tokens),
      results.map(({ tokens }) => tokens),
    );
  }));

const TASKS = '{"id":"a","query":"a"}\n{"id":"b","query":"b"}\n';

interface Run {
  policy: Policy;
  signal?: AbortSignal;
  resume?: boolean;
  /** True if the file of `--out` is written too. */
  out?: boolean;
  /** The file of tasks. */
  tasks?: string;
  makeEnv?: () => Env | Promise<Env>;
}

async function train(folder: string, run: Run): Promise<number> {
  const { policy, signal = new AbortController().signal, resume = false, makeEnv = chatOfThree } = run;
  const tokenizer = byteTokenizer();
  await Deno.writeTextFile(`${folder}/tasks.jsonl`, run.tasks ?? TASKS);
  using out = run.out ? await TrajectoryFile.open(`${folder}/out.jsonl`, { resume }) : undefined;
  using file = await TrainingFile.open(`${folder}/train.jsonl`, { resume });
  await Array.fromAsync(file.fillFrom(out?.finished() ?? []));
  return await playTasks({
    envName: "chat",
    tasks: `${folder}/tasks.jsonl`,
    policy,
    signal,
    samples: 1,
    concurrency: 1,
    maxTurns: 3,
    summary: new Summary({ samples: 1 }),
    out,
    training: new TrainingRun(file, { tokenizer, family: "chatml" }),
    makeEnv,
    stdout: new FakeSink(),
    stderr: new FakeSink(),
  });
}

function chatOfThree(): Env {
  return new TransformedEnv(new ChatEnv(), [echo(), new StepCounter({ maxSteps: 3 })]);
}

/** Responds to each reply, like a user. */
function echo(onStep = () => {}): Transform {
  return {
    step(step) {
      onStep();
      return {
        ...step,
        history: { prompt: step.history.prompt.append({ role: "user", content: "go on" }) },
      };
    },
  };
}

/** Numbers its replies, and aborts the run at one of them. */
function counting(stopAt = Infinity): { policy: Policy; signal: AbortSignal } {
  const stop = new AbortController();
  let requests = 0;
  const policy: Policy = {
    name: "counting",
    reply: () => {
      if (++requests === stopAt) stop.abort();
      stop.signal.throwIfAborted();
      return Promise.resolve(`reply ${requests}`);
    },
  };
  return { policy, signal: stop.signal };
}

async function repliesIn(path: string): Promise<string[][]> {
  return (await resultsIn(path)).map(({ task_id, status, response }) => [task_id, status, response]);
}

Deno.test("a rollout saves partial episodes when it is interrupted, and --resume continues them", () =>
  inFolder(async (folder) => {
    const { policy, signal } = counting(5);
    assertEquals(await train(folder, { policy, signal }), 130);
    const before = await resultsIn(`${folder}/train.jsonl`);
    assertEquals(before.map(({ status, response }) => [status, response]), [
      ["truncated", "reply 1reply 2reply 3"],
      ["aborted", "reply 4"],
    ]);
    assertEquals(await train(folder, { policy, signal: AbortSignal.abort(), resume: true }), 130);
    assertEquals(
      await resultsIn(`${folder}/train.jsonl`),
      before,
      "who goes on and stops at once loses nothing",
    );
    assertEquals(await train(folder, { policy: counting().policy, resume: true }), 0);
    assertEquals(await repliesIn(`${folder}/train.jsonl`), [
      ["a", "truncated", "reply 1reply 2reply 3"],
      ["b", "truncated", "reply 4reply 1reply 2"],
    ]);
  }));

const STOPPED = [["a", "aborted", "reply 1reply 2"]];

/** Runs a rollout that is stopped when its first episode has two replies. */
async function stoppedRun(folder: string): Promise<void> {
  assertEquals(await train(folder, counting(3)), 130);
  assertEquals(await repliesIn(`${folder}/train.jsonl`), STOPPED);
}

Deno.test("a resumed rollout saves further progress when it is stopped again", () =>
  inFolder(async (folder) => {
    await stoppedRun(folder);
    const places: ((stop: AbortController) => Env | Promise<Env>)[] = [
      (stop) => {
        stop.abort();
        throw stop.signal.reason;
      },
      (stop) =>
        new TransformedEnv(new ChatEnv(), [
          echo(() => {
            stop.abort();
            stop.signal.throwIfAborted();
          }),
        ]),
    ];
    for (const makeEnv of places) {
      const stop = new AbortController();
      const { policy } = counting();
      const run = { policy, signal: stop.signal, resume: true, makeEnv: () => makeEnv(stop) };
      assertEquals(await train(folder, run), 130);
      assertEquals(await repliesIn(`${folder}/train.jsonl`), STOPPED);
    }
  }));

Deno.test("a resumed rollout saves further progress when its user or env fails", () =>
  inFolder(async (folder) => {
    await stoppedRun(folder);
    const failures: (() => Env)[] = [
      () => {
        throw new SandboxError("no sandbox");
      },
      () =>
        new TransformedEnv(new ChatEnv(), [echo(() => {
          throw new UserError("no user");
        })]),
    ];
    for (const makeEnv of failures) {
      assertEquals(await train(folder, { policy: counting().policy, resume: true, makeEnv }), 1);
      assertEquals((await repliesIn(`${folder}/train.jsonl`)).filter(([id]) => id === "a"), STOPPED);
    }
  }));

Deno.test("a resumed rollout loses no partial episode when it is killed", () =>
  inFolder(async (folder) => {
    await stoppedRun(folder);
    for (let kill = 1; kill <= 2; kill++) {
      using _killed = await TrainingFile.open(`${folder}/train.jsonl`, { resume: true });
      assertEquals(await repliesIn(`${folder}/train.jsonl`), []);
    }
    assertEquals(await train(folder, { policy: counting().policy, resume: true }), 0);
    assertEquals(await repliesIn(`${folder}/train.jsonl`), [
      ["a", "truncated", "reply 1reply 2reply 1"],
      ["b", "truncated", "reply 2reply 3reply 4"],
    ]);
    const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
    assertEquals(names.sort(), ["tasks.jsonl", "train.jsonl"]);
  }));

Deno.test("a new rollout keeps the partial episodes of a killed one unless it may overwrite them", () =>
  inFolder(async (folder) => {
    await stoppedRun(folder);
    using _killed = await TrainingFile.open(`${folder}/train.jsonl`, { resume: true });
    const error = await assertRejects(() => TrainingFile.open(`${folder}/train.jsonl`), UsageError);
    assertStringIncludes(error.message, "train.jsonl.stopped' has partial episodes of a stopped run");
    using _begun = await TrainingFile.open(`${folder}/train.jsonl`, { force: true });
    const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
    assertEquals(names.sort(), ["tasks.jsonl", "train.jsonl"]);
  }));

Deno.test("a resumed rollout keeps tasks with the same id apart", () =>
  inFolder(async (folder) => {
    const [path, tasks] = [`${folder}/train.jsonl`, '{"id":"a","query":"x"}\n{"id":"a","query":"y"}\n'];
    const questions = async () =>
      (await resultsIn(path)).map(({ messages: [question] }) => question?.content);
    assertEquals(await train(folder, { policy: counting().policy, tasks }), 0);
    assertEquals(await questions(), ["x", "y"]);
    const [, second = ""] = (await Deno.readTextFile(path)).split("\n");
    await Deno.writeTextFile(path, second);
    assertEquals(await train(folder, { policy: counting().policy, tasks, resume: true }), 0);
    assertEquals(await questions(), ["y", "x"]);
    await Deno.writeTextFile(path, "");
    const { policy, signal } = counting(3);
    assertEquals(await train(folder, { policy, signal, tasks, resume: true }), 130);
    assertEquals(await questions(), ["x"]);
    assertEquals(await train(folder, { policy: counting().policy, tasks, resume: true }), 0);
    assertEquals((await repliesIn(path)).map(([, , response]) => response), [
      "reply 1reply 2reply 1",
      "reply 2reply 3reply 4",
    ]);
    assertEquals(await questions(), ["x", "y"]);
  }));

Deno.test("a rollout writes Unicode text, and rejects the name of a compressed file", () =>
  inFolder(async (folder) => {
    let turn = 0;
    const stop = new AbortController();
    const policy: Policy = {
      reply: () => {
        if (++turn === 3) stop.abort();
        stop.signal.throwIfAborted();
        return Promise.resolve("a \ud83d");
      },
    };
    assertEquals(await train(folder, { policy, signal: stop.signal }), 130);
    assertEquals(await repliesIn(`${folder}/train.jsonl`), [["a", "aborted", "a \ufffda \ufffd"]]);
    assertEquals(await train(folder, { policy: counting().policy, resume: true }), 0);
    assertEquals((await repliesIn(`${folder}/train.jsonl`))[0], [
      "a",
      "truncated",
      "a \ufffda \ufffdreply 1",
    ]);
    const error = await assertRejects(() => TrainingFile.open(`${folder}/train.jsonl.gz`), UsageError);
    assertStringIncludes(error.message, "give a name without '.gz'");
  }));

async function without(path: string, id: string): Promise<void> {
  const lines = (await Deno.readTextFile(path)).split("\n").filter((line) => line !== "");
  const named = (line: string) => JSON.parse(line).task_id ?? JSON.parse(line).task.id;
  await Deno.writeTextFile(
    path,
    lines.filter((line) => named(line) !== id).map((line) => `${line}\n`).join(""),
  );
}

Deno.test("a resumed rollout with two files adds only the missing episodes to each", () =>
  inFolder(async (folder) => {
    const [out, trained] = [`${folder}/out.jsonl`, `${folder}/train.jsonl`];
    const outSaid = async () =>
      (await Array.fromAsync(readTrajectories(out))).map(({ task, messages }) => [task.id, messages.length]);
    assertEquals(await train(folder, { policy: counting().policy, out: true }), 0);
    const whole = await resultsIn(trained);
    assertEquals(await outSaid(), [["a", 7], ["b", 7]]);

    await without(trained, "b"); // killed between the two writes
    const never = counting(1);
    assertEquals(await train(folder, { policy: never.policy, resume: true, out: true }), 0);
    assertEquals(await resultsIn(trained), whole, "the same episode, and not one like it");

    await without(out, "a");
    assertEquals(await train(folder, { policy: counting().policy, resume: true, out: true }), 0);
    assertEquals(await resultsIn(trained), whole);
    assertEquals(await outSaid(), [["b", 7], ["a", 7]]);

    await Deno.remove(trained);
    const bare = await Array.fromAsync(
      readTrajectories(out),
      ({ tokens: _tokens, ...trajectory }) => trajectory,
    );
    await Deno.writeTextFile(out, bare.map((trajectory) => `${JSON.stringify(trajectory)}\n`).join(""));
    const stopped = counting(3);
    assertEquals(await train(folder, { ...stopped, resume: true, out: true }), 130);
    assertEquals(await repliesIn(trained), STOPPED);
    assertEquals(await train(folder, { policy: counting().policy, resume: true, out: true }), 0);
    assertEquals((await repliesIn(trained)).map(([id]) => id), ["a", "b"]);
    assertEquals(await outSaid(), [["b", 7], ["a", 7]]);
  }));

Deno.test("a resumed rollout that is stopped leaves a complete file unchanged", () =>
  inFolder(async (folder) => {
    assertEquals(await train(folder, { policy: counting().policy }), 0);
    const whole = await resultsIn(`${folder}/train.jsonl`);
    assertEquals(await train(folder, { ...counting(2), resume: true, out: true }), 130);
    assertEquals(await resultsIn(`${folder}/train.jsonl`), whole);
  }));
