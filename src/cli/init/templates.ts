import { fileURLToPath } from "node:url";
import { DENO_VERSION, PADDOCK_VERSION } from "../../version.ts";

const ENV = `import {
  ChatEnv,
  EndOnFinalReply,
  type Env,
  GradeEpisode,
  type Grader,
  messageText,
  PythonInterpreter,
  type SessionPool,
  StepCounter,
  TransformedEnv,
} from "@paddock/paddock";

/** Scores an episode: 1 if the last reply ends with the task's answer, else 0. Change it to what you reward. */
export const grader: Grader = {
  name: "ends_with_answer",
  grade({ task, history }) {
    const reply = history.last === undefined
      ? ""
      : messageText(history.last).trim();
    return task.answer !== undefined && reply.endsWith(String(task.answer))
      ? 1
      : 0;
  },
};

const systemPrompt = "Python blocks in your replies are run.";

/** Makes the env of one episode: a chat in which the Python blocks of a reply run in a sandbox. */
export function makeEnv(pool: SessionPool): Env {
  return new TransformedEnv(new ChatEnv({ systemPrompt }), [
    new PythonInterpreter({ pool, timeoutMs: 2_000 }),
    new EndOnFinalReply(),
    new StepCounter({ maxSteps: 8 }),
    new GradeEpisode({ grader }),
  ]);
}
`;

const ENV_TEST = `import {
  loadProfile,
  readTasks,
  rollout,
  SandboxPool,
  scriptedPolicy,
} from "@paddock/paddock";
import { makeEnv } from "./env.ts";

Deno.test("the recorded replies of tasks.jsonl earn their reward", async () => {
  await using pool = new SandboxPool({
    profile: await loadProfile("python"),
    size: 1,
  });
  for await (const task of readTasks("tasks.jsonl")) {
    await using env = makeEnv(pool);
    const { reward, error } = await rollout(env, scriptedPolicy(), task);
    if (reward !== 1) {
      throw new Error(
        \`Task \${task.id}: the reward is \${reward} \${error?.message ?? ""}\`,
      );
    }
  }
});
`;

const TASKS = [
  {
    id: "letters",
    query: "How many times does the letter r occur in 'strawberry'?",
    answer: "3",
    replies: ["```python\nprint('strawberry'.count('r'))\n```", "The answer is 3"],
  },
  {
    id: "sum",
    query: "What is the sum of the first ten squares?",
    answer: "385",
    replies: ["```python\nprint(sum(n * n for n in range(1, 11)))\n```", "The answer is 385"],
  },
];

const README = `# A project with Paddock

| file          | contents                                                      |
| ------------- | ------------------------------------------------------------- |
| \`tasks.jsonl\` | tasks, one per line; \`replies\` stand in for a model           |
| \`env.ts\`      | the environment of an episode, and its reward                 |
| \`env_test.ts\` | plays the tasks with their replies: the rewards must be right |

\`\`\`sh
deno task test       # runs the test
deno task rollout    # plays the tasks and writes runs/a.jsonl
deno task paddock view runs/a.jsonl
deno task paddock rollout --tasks tasks.jsonl --policy openai:http://localhost:8000 --model NAME
\`\`\`

Without a command \`deno\`, write \`npx -y deno@${DENO_VERSION}\` in its place.
`;

/** Returns the files of a new project by their paths. */
export function projectFiles(): Record<string, string> {
  return {
    "deno.json": `${JSON.stringify(configuration(), undefined, 2)}\n`,
    "tasks.jsonl": TASKS.map((task) => `${JSON.stringify(task)}\n`).join(""),
    "env.ts": ENV,
    "env_test.ts": ENV_TEST,
    "README.md": README,
    ".gitignore": "runs/\n",
  };
}

/** Returns the configuration. A project of a clone links to the clone, as the package need not be published. */
function configuration(): object {
  const paddock = `jsr:@paddock/paddock@^${PADDOCK_VERSION}`;
  const root = new URL("../../../", import.meta.url);
  const isClone = root.protocol === "file:" && !root.pathname.includes("/node_modules/");
  return {
    tasks: {
      test: "deno test -A",
      paddock: `deno run -A ${paddock}/cli`,
      rollout: `deno run -A ${paddock}/cli rollout --tasks tasks.jsonl --out runs/a.jsonl --force`,
    },
    imports: { "@paddock/paddock": paddock },
    ...(isClone && { links: [fileURLToPath(root).replace(/[\\/]$/, "")] }),
    unstable: ["no-legacy-abort", "raw-imports", "worker-options"],
  };
}
