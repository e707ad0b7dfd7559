import { fileURLToPath } from "node:url";
import { DENO_VERSION, PADDOCK_VERSION } from "../../version.ts";

const ENV = `import { defineEnv } from "@paddock/paddock/envs";

export default defineEnv({
  system: "Python blocks in your replies are run.",

  /** Runs the Python blocks of a reply in a sandbox. */
  python: true,

  /** Scores an episode: 1 if the last reply ends with the task's answer, else 0. Change it to what you reward. */
  reward({ completion, answer }) {
    return answer !== undefined && completion.trim().endsWith(answer) ? 1 : 0;
  },
});
`;

const ENV_TEST = `import {
  loadProfile,
  readTasks,
  rollout,
  SandboxPool,
  scriptedPolicy,
} from "@paddock/paddock";
import { envFile, fileEnv } from "@paddock/paddock/envs";

Deno.test("the recorded replies of tasks.jsonl earn their reward", async () => {
  await using pool = new SandboxPool({
    profile: await loadProfile("python"),
    size: 1,
  });
  await using file = await envFile(new URL("env.ts", import.meta.url));
  for await (const task of readTasks("tasks.jsonl")) {
    await using env = fileEnv(file, { pool });
    const { reward, error } = await rollout(env, scriptedPolicy(), task);
    if (reward !== 1) {
      throw new Error(
        \`Task \${task.id}: the reward is \${reward} \${error?.message ?? ""}\`,
      );
    }
  }
});
`;

const PYTHON_ENV =
  `"""The environment of an episode: a chat in which Python blocks of replies run, and its reward."""

system = "Python blocks in your replies are run."
python = True


def reward(completion: str, answer: str) -> float:
    """Scores an episode: 1 if the last reply ends with the task's answer, else 0. Change it to what you reward."""
    return float(completion.strip().endswith(answer))
`;

const PYTHON_TEST = `import json
import unittest

import env


class RewardTest(unittest.TestCase):
    def test_recorded_replies_earn_their_reward(self):
        with open("tasks.jsonl") as file:
            tasks = [json.loads(line) for line in file]
        for task in tasks:
            with self.subTest(task["id"]):
                self.assertEqual(env.reward(task["replies"][-1], task["answer"]), 1.0)

    def test_wrong_reply_earns_nothing(self):
        self.assertEqual(env.reward("The answer is 4", "3"), 0.0)
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

/** Commands of a README, which are the same in both languages. */
const COMMANDS = `\`\`\`sh
deno task test       # runs the test
deno task rollout    # plays the tasks in the environment and writes runs/a.jsonl
deno task paddock view runs/a.jsonl
deno task rollout --policy openai:http://localhost:8000 --model NAME
\`\`\`

Without a command \`deno\`, write \`npx -y deno@${DENO_VERSION}\` in its place.
`;

const README = `# A project with Paddock

| file          | contents                                                      |
| ------------- | ------------------------------------------------------------- |
| \`tasks.jsonl\` | tasks, one per line; \`replies\` stand in for a model           |
| \`env.ts\`      | the environment of an episode, and its reward                 |
| \`env_test.ts\` | plays the tasks with their replies: the rewards must be right |

${COMMANDS}`;

const PYTHON_README = `# A project with Paddock

| file            | contents                                                            |
| --------------- | ------------------------------------------------------------------- |
| \`tasks.jsonl\`   | tasks, one per line; \`replies\` stand in for a model                 |
| \`env.py\`        | the environment of an episode, and its reward; it runs in a sandbox |
| \`test_env.py\`   | tests the reward with \`python3 -m unittest\`                         |
| \`paddock.jsonc\` | options of the rollout: \`paddock rollout --config paddock.jsonc\`    |

${COMMANDS}`;

const PYTHON_CONFIG = `{
  // Options of \`paddock rollout\`. Options of the command line win.
  "rollout": {
    "env": "./env.py",
    "tasks": "tasks.jsonl",
    "out": "runs/a.jsonl",
    "force": true
  }
}
`;

/** Language of the files of a project. */
export type ProjectLanguage = "typescript" | "python";

/** Returns the files of a new project by their paths. */
export function projectFiles(language: ProjectLanguage): Record<string, string> {
  const isPython = language === "python";
  return {
    "deno.json": `${JSON.stringify(configuration(language), undefined, 2)}\n`,
    "tasks.jsonl": TASKS.map((task) => `${JSON.stringify(task)}\n`).join(""),
    ...(isPython
      ? { "env.py": PYTHON_ENV, "test_env.py": PYTHON_TEST, "paddock.jsonc": PYTHON_CONFIG }
      : { "env.ts": ENV, "env_test.ts": ENV_TEST }),
    "README.md": isPython ? PYTHON_README : README,
    ".gitignore": isPython ? "runs/\n__pycache__/\n" : "runs/\n",
  };
}

/** Returns the configuration. A project of a clone links to the clone, as the package need not be published. */
function configuration(language: ProjectLanguage): object {
  const paddock = `jsr:@paddock/paddock@^${PADDOCK_VERSION}`;
  const root = new URL("../../../", import.meta.url);
  const isClone = root.protocol === "file:" && !root.pathname.includes("/node_modules/");
  const options = language === "python"
    ? "--config paddock.jsonc"
    : "--env ./env.ts --tasks tasks.jsonl --out runs/a.jsonl --force";
  return {
    tasks: {
      test: language === "python" ? "python3 -m unittest" : "deno test -A",
      paddock: `deno run -A --quiet ${paddock}/cli`,
      rollout: `deno run -A --quiet ${paddock}/cli rollout ${options}`,
    },
    imports: { "@paddock/paddock": paddock },
    ...(isClone && { links: [fileURLToPath(root).replace(/[\\/]$/, "")] }),
    unstable: ["no-legacy-abort", "raw-imports", "worker-options"],
    // without it, the first run warns of a script that counts installations of a package
    allowScripts: { allow: [], deny: ["npm:@scarf/scarf"] },
  };
}
