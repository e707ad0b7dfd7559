import { GRADERS } from "../../rewards/registry.ts";
import { CALL_STYLES } from "../../tools/parsers/call_styles.ts";
import { REWARD_AT } from "../../transforms/mlgym/mlgym_reward_assignment.ts";
import { configOption } from "../config/config_file.ts";
import { UsageError } from "../cli_errors.ts";
import { flagOf, type OptionRow, type OptionTable } from "../option_table.ts";
import { parseNumber, parseNumberAtLeast, parseWholeNumber } from "../options.ts";
import { clockOption, profileOption } from "../sandbox_options.ts";
import { timeScaleOption } from "../time_scale.ts";
import { envKindOf, ENVS, FILE_ENV } from "./envs.ts";
import { DEFAULT_GRADER } from "./graders.ts";
import { ALLOW_HELP } from "./plugins.ts";
import { DEFAULT_MAX_TOKENS, POLICIES } from "./policies.ts";
import { pythonProfileOption } from "./python_files.ts";
import { DEFAULT_SERVER_WAIT } from "./server_watch.ts";
import { FAMILY_ENV, FAMILY_TASKS } from "./envs/families.ts";
import { REASONING_GYM } from "./envs/reasoning_gym.ts";
import { HARBOR_ENV } from "./envs/harbor.ts";
import { TAU_BENCH } from "./envs/tau_bench.ts";
import { USER_STRATEGIES, USERS } from "./envs/users.ts";
import { WORKSPACE_ENV } from "./envs/workspace.ts";

/** An option of `paddock rollout`. */
export interface RolloutOptionRow extends OptionRow {
  /** Envs that support the option. @default all */
  readonly envs?: readonly string[];
  /** True if the task and agent files of a workspace set the option. */
  readonly isSetByWorkspace?: boolean;
  /** False if the option does not change episodes, so that the record of a run leaves the option out. @default true */
  readonly isKept?: boolean;
}

/** Envs that are chats of `ChatEnv`. */
const CHAT_ENVS = ["python", "tools", "chat", FILE_ENV];
/** Chats, and the envs of families, which are chats too. */
const CHATS_AND_FAMILIES = [...CHAT_ENVS, FAMILY_ENV, REASONING_GYM];

const COUNT = parseWholeNumber(1);

/** The options of `paddock rollout`, in the order of the help. */
export const ROLLOUT_OPTIONS = {
  env: {
    group: "Tasks",
    value: "name",
    about: "environment, or a file like ./env.ts or ./env.py",
    names: Object.keys(ENVS),
    default: "python",
  },
  envAllow: {
    isKept: false,
    group: "Tasks",
    value: "permission",
    repeats: true,
    about: `permission of that file in TypeScript: ${ALLOW_HELP}`,
    envs: [FILE_ENV],
  },
  tasks: {
    isKept: false,
    group: "Tasks",
    value: "file",
    about: "task file: JSON lines, CSV or TSV (also .gz) or Parquet, a folder of these, or - for stdin",
  },
  split: {
    isKept: false,
    group: "Tasks",
    value: "name",
    about:
      "split: files of a folder (default: train, else all), tasks of tau-bench (default: test) or of a family " +
      "(train, validation or test; default: train)",
    isSetByWorkspace: true,
  },
  queryField: {
    group: "Tasks",
    value: "column",
    about: "column of the query, also inside an object: meta.text (default: query, question, prompt, …)",
    envs: CHAT_ENVS,
  },
  answerField: {
    group: "Tasks",
    value: "column",
    about: "column of the answer (default: answer, target, reward_model.ground_truth, …)",
    envs: CHAT_ENVS,
  },
  idField: {
    group: "Tasks",
    value: "column",
    about: "column of the id (default: id, else file and row)",
    envs: CHAT_ENVS,
  },
  systemField: {
    group: "Tasks",
    value: "column",
    about: "column of the system message",
    envs: CHAT_ENVS,
    conflicts: ["system"],
  },
  keepFields: {
    group: "Tasks",
    value: "column",
    repeats: true,
    about: "column that graders get in `fields`; repeatable (default: all others)",
    envs: CHAT_ENVS,
  },
  limit: {
    isKept: false,
    group: "Tasks",
    value: "n",
    number: COUNT,
    about: `play only the first n tasks (default: all; families and reasoning-gym: ${FAMILY_TASKS})`,
  },
  difficulty: {
    group: "Tasks",
    value: "n",
    about:
      "difficulty of a family from 1 to 10, a range as in 1-5, or auto, which follows the pass rate (default: 1)",
    envs: [FAMILY_ENV],
  },
  samples: {
    isKept: false,
    group: "Tasks",
    value: "n",
    number: COUNT,
    default: 1,
    about: "episodes per task",
  },
  seed: {
    group: "Tasks",
    value: "n",
    number: parseWholeNumber(0),
    about: "seed for reproducible episodes",
  },
  branch: {
    group: "Tasks",
    value: "count@turn",
    repeats: true,
    about: "play trees: 4@2 plays turn 1 once, and from turn 2 on four continuations; repeatable",
  },
  policy: {
    group: "Policy",
    value: "name",
    about: "policy, or a file like ./my_policy.ts",
    names: Object.keys(POLICIES),
    default: "scripted",
  },
  policyAllow: {
    isKept: false,
    group: "Policy",
    value: "permission",
    repeats: true,
    about: `permission of that file: ${ALLOW_HELP}`,
  },
  model: { group: "Policy", value: "name", about: "model name sent to the server of --policy" },
  temperature: {
    group: "Policy",
    value: "t",
    number: parseNumberAtLeast(0),
    about: "sampling temperature (default: the server's)",
  },
  topP: {
    group: "Policy",
    value: "p",
    number: parseNumberAtLeast(0),
    about: "sample from the likeliest tokens of this probability in sum (default: the server's)",
  },
  topK: {
    group: "Policy",
    value: "k",
    number: parseNumber,
    about: "sample from the k likeliest tokens; -1 from all (default: the server's)",
  },
  stop: { group: "Policy", value: "text", repeats: true, about: "text that ends a reply; repeatable" },
  extraBody: {
    group: "Policy",
    value: "json",
    about: "JSON object with further fields of each request (sglang: of its sampling_params)",
  },
  maxTokens: {
    group: "Policy",
    value: "n",
    number: parseWholeNumber(0),
    about:
      `maximum tokens of one reply; 0 for the server's default (default: ${DEFAULT_MAX_TOKENS} with a server)`,
  },
  requestTimeoutMs: {
    isKept: false,
    group: "Policy",
    value: "n",
    number: COUNT,
    default: 300_000,
    about: "timeout of one reply in milliseconds",
  },
  noSystem: {
    isKept: false,
    group: "Policy",
    about: "send no system message; by default a model of env python is told of the interpreter",
    conflicts: ["systemField"],
  },
  serverWait: {
    isKept: false,
    group: "Policy",
    value: "seconds",
    number: parseNumberAtLeast(0),
    default: DEFAULT_SERVER_WAIT,
    about: "time that a run waits for a model server that has answered and is away",
  },
  maxErrors: {
    isKept: false,
    group: "Policy",
    value: "n",
    number: COUNT,
    about: "end the run after n failed episodes (default: only if all would fail, such as with a wrong key)",
  },
  system: {
    group: "Policy",
    value: "text",
    about: "system message before each query",
    isSetByWorkspace: true,
  },
  maxTurns: {
    group: "Policy",
    value: "n",
    number: COUNT,
    about:
      "maximum replies per episode (default: 8; tau-bench: 30; harbor: 50; workspace: 50 commands; families: 1, with tools 64)",
  },
  episodeTokens: {
    group: "Policy",
    value: "n",
    number: COUNT,
    about: "maximum tokens of all replies of an episode, which is then truncated",
  },
  episodeSeconds: {
    group: "Policy",
    value: "s",
    number: parseNumberAtLeast(0),
    about: "maximum time of an episode, which is then truncated",
  },
  cutScore: {
    group: "Reward",
    value: "how",
    choices: ["grade", "none"],
    default: "grade",
    about: "score of an episode that a limit of tokens cut off",
  },
  grader: {
    group: "Reward",
    value: "name",
    repeats: true,
    about:
      `grader, none for no scores, or a file like ./g.ts or ./g.py; repeatable with weights, as in gsm8k=0.8 ` +
      `(default: ${DEFAULT_GRADER})`,
    names: [...Object.keys(GRADERS), "none"],
    isSetByWorkspace: true,
  },
  transform: {
    group: "Reward",
    value: "file",
    repeats: true,
    about: "file like ./my_transform.ts that changes queries, tool results or rewards of a chat; repeatable",
    envs: CHATS_AND_FAMILIES,
  },
  transformAllow: {
    isKept: false,
    group: "Reward",
    value: "permission",
    repeats: true,
    about: `permission of these files: ${ALLOW_HELP}`,
    envs: CHATS_AND_FAMILIES,
  },
  graderAllow: {
    isKept: false,
    group: "Reward",
    value: "permission",
    repeats: true,
    about: `permission of that file in TypeScript: ${ALLOW_HELP}`,
    isSetByWorkspace: true,
  },
  audit: {
    group: "Reward",
    value: "how",
    choices: ["flag", "zero"],
    about: "search replies for known hacks: flag writes them into the row, zero also takes the reward away",
  },
  judge: {
    group: "Reward",
    value: "policy",
    about: "judge of the grader `judge`: openai:URL, sglang:URL",
    isSetByWorkspace: true,
  },
  judgeModel: {
    group: "Reward",
    value: "name",
    about: "model name sent to its server",
    isSetByWorkspace: true,
  },
  mcp: {
    group: "Tools",
    value: "file",
    about: "JSONC file of MCP servers whose tools the policy may call",
  },
  tool: {
    group: "Tools",
    value: "file",
    repeats: true,
    about: "TypeScript file with a tool, or Python file with tools, that run without permissions; repeatable",
  },
  toolCallers: {
    group: "Tools",
    value: "callers",
    about:
      "who calls the tools: model, code (of Python blocks, with a profile such as tools), or model,code " +
      "(default: model)",
  },
  toolNames: {
    group: "Tools",
    value: "names",
    about:
      "where code finds its tools: as tools.NAME, also as functions, or also as modules, one for each MCP server " +
      "(default: tools)",
    choices: ["tools", "functions", "modules"],
  },
  calls: {
    group: "Tools",
    value: "style",
    about: "format of tool calls (default: tag; tau-bench: qwen25)",
    names: Object.keys(CALL_STYLES),
    isSetByWorkspace: true,
  },
  path: {
    isKept: false,
    group: "Env tau-bench",
    value: "dir",
    about: "checkout, or a folder with the same layout; of reasoning-gym the folder of pip install --target",
    envs: [TAU_BENCH, REASONING_GYM],
  },
  domain: {
    group: "Env tau-bench",
    value: "name",
    about: "domain, for example retail or airline",
    envs: [TAU_BENCH],
  },
  user: {
    group: "Env tau-bench",
    value: "name",
    about: "simulated user",
    names: Object.keys(USERS),
    envs: [TAU_BENCH],
  },
  userModel: {
    group: "Env tau-bench",
    value: "name",
    about: "model name sent to its server",
    envs: [TAU_BENCH],
  },
  userStrategy: {
    group: "Env tau-bench",
    value: "name",
    choices: USER_STRATEGIES,
    default: "llm",
    about: "strategy of a model that plays the user",
    envs: [TAU_BENCH],
  },
  dataSet: {
    group: "Env reasoning-gym",
    value: "name",
    about: "data set, for example leg_counting",
    envs: [REASONING_GYM],
  },
  dataSetConfig: {
    group: "Env reasoning-gym",
    value: "json",
    about: "JSON object with settings of the data set",
    envs: [REASONING_GYM],
  },
  fullScore: {
    group: "Env reasoning-gym",
    about: "score 1 for the full score, else 0 (default: the data set's own score)",
    envs: [REASONING_GYM],
  },
  task: {
    group: "Env workspace",
    value: "path",
    repeats: true,
    about: "folder with a task.yaml, or a YAML file; repeatable",
    envs: [WORKSPACE_ENV],
  },
  agent: {
    group: "Env workspace",
    value: "file",
    about: "YAML file of the agent (default: Paddock's own agent)",
    envs: [WORKSPACE_ENV],
  },
  rewardAt: {
    group: "Env workspace",
    value: "when",
    choices: REWARD_AT,
    about: "steps that give a reward (default: end)",
    envs: [WORKSPACE_ENV],
  },
  wrongFormatReward: {
    group: "Env workspace",
    value: "r",
    number: parseNumber,
    about: "reward of a reply without a command, for example -0.1",
    envs: [WORKSPACE_ENV],
  },
  harbor: {
    group: "Env harbor",
    value: "dir",
    about: "folder of a task in Harbor's format, or of such folders; implies --env harbor",
    envs: [HARBOR_ENV],
  },
  profile: {
    group: "Sandbox and speed",
    about: "profile of the sandbox",
    make: profileOption,
    isSetByWorkspace: true,
  },
  clock: {
    group: "Sandbox and speed",
    about: "time that programs see",
    make: clockOption,
  },
  pythonProfile: {
    group: "Sandbox and speed",
    about: "profile of the user's Python files",
    default: "python",
    make: pythonProfileOption,
  },
  timeoutMs: {
    group: "Sandbox and speed",
    value: "n",
    number: COUNT,
    default: 2000,
    about: "timeout of a code block or tool call in milliseconds (workspace commands: 25000, harbor: 120000)",
  },
  timeScale: {
    group: "Sandbox and speed",
    value: "n",
    about: "factor of the limits of time of programs",
    make: timeScaleOption,
    envs: CHATS_AND_FAMILIES,
  },
  runUnlabeled: {
    group: "Sandbox and speed",
    about: "run code blocks without a language too",
    envs: ["python", FILE_ENV],
  },
  runThoughts: {
    group: "Sandbox and speed",
    about: "run code blocks inside thoughts too, as TorchRL does",
    envs: ["python", FILE_ENV],
  },
  concurrency: {
    isKept: false,
    group: "Sandbox and speed",
    value: "n",
    number: COUNT,
    about: "concurrent episodes (default: 8 with a server, else one per core)",
  },
  poolSize: {
    isKept: false,
    group: "Sandbox and speed",
    value: "n",
    number: COUNT,
    about: "number of interpreters (default: --concurrency; without a server at most one per core)",
  },
  reset: {
    group: "Sandbox and speed",
    value: "mode",
    choices: ["rewind", "fresh"],
    default: "rewind",
    about: "how interpreters are reset between episodes; rewind is faster, for a single trusted policy",
  },
  out: { isKept: false, group: "Output", value: "file", about: "write one JSON line per episode to a file" },
  resume: {
    isKept: false,
    group: "Output",
    about: "continue the file of --out or --train-out",
    conflicts: ["force"],
  },
  force: { isKept: false, group: "Output", about: "discard the contents of the file of --out" },
  show: { isKept: false, group: "Output", about: "print each episode's messages" },
  showFirst: {
    isKept: false,
    group: "Output",
    value: "n",
    number: COUNT,
    about: "print the messages of the first n episodes",
  },
  json: {
    isKept: false,
    group: "Output",
    about: "print one JSON line per episode to stdout and the table to stderr",
    conflicts: ["show", "showFirst"],
  },
  trainOut: {
    isKept: false,
    group: "Training",
    value: "file",
    about: "write tokens, loss masks and rewards for a trainer; needs --tokenizer",
  },
  tokenizer: {
    isKept: false,
    group: "Training",
    value: "dir",
    about: "folder with tokenizer.json and tokenizer_config.json; records token ids",
  },
  tokenMode: {
    group: "Training",
    value: "mode",
    choices: ["append", "rerender"],
    default: "append",
    about: "append to earlier tokens, or render each prompt again",
  },
  config: { isKept: false, group: "Options", about: "file with options", make: configOption },
} satisfies OptionTable<RolloutOptionRow>;

/**
 * Checks that the env supports all given options, so that none is ignored silently.
 *
 * @param given Names of the options that the user has set.
 * @throws {UsageError} for the first unsupported option.
 */
export function checkEnvOptions(given: Iterable<string>, env: string): void {
  const rows: OptionTable<RolloutOptionRow> = ROLLOUT_OPTIONS;
  for (const name of given) {
    const { envs, isSetByWorkspace = false } = rows[name] ?? {};
    const start = `Cannot play env '${env}' with ${flagOf(name)}`;
    if (envs !== undefined && !envs.includes(envKindOf(env))) {
      const named = envs.filter((name) => name !== FILE_ENV && name !== FAMILY_ENV);
      const [owner] = named;
      const reason = envs[0] === FAMILY_ENV
        ? "as it is for the envs of families: give an env such as --env paddock/graph-paths"
        : owner === undefined
        ? "as it is for an env in a file: give --env FILE.ts"
        : named.length === 1
        ? `as it is for env '${owner}': add --env ${owner}`
        : `as it is for envs ${named.join(", ")}: remove ${flagOf(name)}`;
      throw new UsageError(`${start} ${reason}`);
    }
    if (env === WORKSPACE_ENV && isSetByWorkspace) {
      throw new UsageError(`${start} as its task and agent files set it: remove ${flagOf(name)}`);
    }
    if (env === HARBOR_ENV && isSetByWorkspace && name !== "system") {
      throw new UsageError(`${start} as the folders of its tasks set it: remove ${flagOf(name)}`);
    }
  }
}
