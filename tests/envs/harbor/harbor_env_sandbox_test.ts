import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { replyAction } from "../../../src/envs/action.ts";
import type { Step } from "../../../src/envs/env.ts";
import { loadHarborTask } from "../../../src/envs/harbor/config/load_task.ts";
import { HarborEnv, type HarborEnvOptions, harborEnvTask } from "../../../src/envs/harbor/harbor_env.ts";
import { HarborTasks } from "../../../src/envs/harbor/harbor_tasks.ts";
import { SandboxError } from "../../../src/errors.ts";
import { CHEATS, MODULE_CHEATS } from "./cheats.ts";
import { makeTasks, writeTasks } from "./made_tasks.ts";

const PLAYED = ["column_sum_1", "fix_module_1", "parts_1", "separate_1"];

/** Loads made tasks, and plays them in shared sandboxes. */
class Play implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  #tasks: HarborTasks | undefined;

  static async open(): Promise<Play> {
    const play = new Play();
    const folder = play.#stack.use(await writeTasks(makeTasks().filter(({ id }) => PLAYED.includes(id))));
    const tasks = await Promise.all(PLAYED.map((id) => loadHarborTask(join(folder.path, id))));
    const short = tasks.filter(({ id }) => id === "parts_1").map((task) => ({
      ...task,
      id: "short",
      agentTimeoutMs: 200,
    }));
    const broken = short.map((task) => {
      const steps = [
        ...task.image.steps,
        { kind: "run", command: "echo gone >&2; exit 3", workdir: "/" } as const,
      ];
      return { ...task, id: "broken", image: { ...task.image, steps } };
    });
    play.#tasks = play.#stack.use(
      new HarborTasks({ tasks: [...tasks, ...short, ...broken], resetMode: "rewind", sessions: 2 }),
    );
    return play;
  }

  get tasks(): HarborTasks {
    if (this.#tasks === undefined) throw new Error("Cannot play as the tasks must be open");
    return this.#tasks;
  }

  /** Starts an episode. */
  async start(id: string, options: Omit<HarborEnvOptions, "tasks"> = {}): Promise<HarborEnv> {
    const env = this.#stack.use(new HarborEnv({ tasks: this.tasks, ...options }));
    await env.reset({ id, query: "" });
    return env;
  }

  /** Plays an episode, and returns the last step. */
  async episode(
    id: string,
    replies: readonly string[],
    options?: Omit<HarborEnvOptions, "tasks">,
  ): Promise<Step> {
    await using env = await this.start(id, options);
    let last: Step | undefined;
    for (const reply of replies) last = await env.step(replyAction(reply));
    if (last === undefined) throw new Error("Cannot play as there must be a reply");
    return last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

const block = (commands: string) => `\`\`\`bash\n${commands}\n\`\`\``;

Deno.test("HarborEnv", async (test) => {
  await using play = await Play.open();

  await test.step("gives 1 for the work of the solution, and the parts of reward.json", async () => {
    for (const id of ["separate_1", "parts_1"]) {
      const { replies = [] } = await harborEnvTask(play.tasks.task(id));
      const { reward, rewardParts, terminated } = await play.episode(id, replies);
      assertEquals([id, reward, terminated], [id, 1, true]);
      if (id === "parts_1") assertEquals(rewardParts, { reward: 1, a: 1, b: 1 });
    }
  });

  await test.step("gives 0 for nothing, and for all that an agent leaves for the verifier", async () => {
    assertEquals((await play.episode("column_sum_1", ["Nothing to do."])).reward, 0);
    // the last cheats end the shell or its files, so that they come last
    const commands = CHEATS.map(({ commands }) => commands);
    const { reward, info } = await play.episode("column_sum_1", [...commands.map(block), "Done."]);
    assertEquals(reward, 0);
    const { leftOut } = info?.harbor as { leftOut: string[] };
    for (const path of ["/app/conftest.py", "/app/json.py", "/app/sitecustomize.py", "/app/total.txt"]) {
      assertEquals(leftOut.includes(path), true, `${path} of ${leftOut}`);
    }
  });

  await test.step("gives 0 for code under test that ends the tests or pays itself", async () => {
    for (const { name, commands } of MODULE_CHEATS.slice(0, 3)) {
      const { reward, unscored } = await play.episode("fix_module_1", [block(commands), "Done."]);
      assertEquals([name, reward, unscored], [name, 0, undefined]);
    }
  });

  await test.step("refuses a task whose image cannot be made", async () => {
    await assertRejects(() => play.start("broken"), SandboxError, "exit 3': gone");
  });

  await test.step("shows the output of commands, and truncates an episode after its last reply", async () => {
    const replies = ["First:\n```sh\ncd /app; ls\n```\nThen:\n```\npwd\nexit 3\n```", block("echo two")];
    await using env = await play.start("parts_1", { maxTurns: 2 });
    const first = await env.step(replyAction(replies[0] ?? ""));
    assertEquals(first.history.prompt.last?.content, "/app\n[exit code 3]");
    const { reward, truncated, terminated, history, info } = await env.step(replyAction(replies[1] ?? ""));
    assertEquals([reward, truncated, terminated], [0, true, false]);
    assertEquals(history.prompt.last?.content, "two");
    assertEquals((info?.harbor as { end: string }).end, "turns");
  });

  await test.step("continues an episode in a fork with its own files", async () => {
    await using env = await play.start("parts_1");
    await env.step(replyAction(block("echo one > /app/a.txt")));
    const [fork] = await env.fork(1);
    await using other = fork;
    await other?.step(replyAction(block("echo two > /app/b.txt")));
    assertEquals((await other?.step(replyAction("Done.")))?.rewardParts, { reward: 1, a: 1, b: 1 });
    assertEquals((await env.step(replyAction("Done."))).rewardParts, { reward: 0, a: 1, b: 0 });
  });

  await test.step("ends an episode whose commands have used up the time of the task", async () => {
    const { truncated, history, info, reward } = await play.episode("short", [block("sleep 30")]);
    assertEquals([truncated, reward], [true, 0]);
    assertStringIncludes(String(history.prompt.last?.content), "[timed out");
    assertEquals((info?.harbor as { end: string }).end, "time");
  });
});
