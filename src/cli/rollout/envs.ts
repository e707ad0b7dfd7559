import type { Tokenizer } from "../../chat/tokenizer.ts";
import { FAMILY_NAMES, FAMILY_PREFIX } from "../../families/names.ts";
import { FAMILIES } from "../../families/registry.ts";
import type { Env } from "../../envs/env.ts";
import type { AnswerSubCall } from "../../envs/rlm/recursive_env.ts";
import { RlmEnv, type RlmEnvOptions } from "../../envs/rlm/rlm_env.ts";
import type { TransformFile } from "../../plugins/transform_file.ts";
import type { Grader } from "../../rewards/grader.ts";
import type { SessionPool } from "../../sandbox/contract/pool.ts";
import type { Task } from "../../task.ts";
import type { RunTools } from "./tools.ts";
import type { InteractionResult } from "../../rollout/interaction_result.ts";
import { makeChatEnv, type MakeChatEnvOptions, tokenTransforms } from "../../rollout/make_chat_env.ts";
import { limitToOneCall } from "../../rollout/training_rollout.ts";
import { REASONING_GYM } from "./envs/reasoning_gym.ts";
import type { TauBenchRun } from "./envs/tau_bench.ts";
import type { EnvFile } from "../../plugins/env_file.ts";
import { familyEnv, familyTurns } from "../../rollout/family_env.ts";
import { fileEnv } from "../../rollout/file_env.ts";
import type { ToolCallParser } from "../../tools/parsers/tool_call_parser.ts";
import { UsageError } from "../cli_errors.ts";
import { FAMILY_ENV, isFamilyEnv } from "./envs/families.ts";
import { isPluginPath, openPlugin, refuseGrants } from "./plugins.ts";
import { isPythonPath, openPythonFile, type PythonFileFlags, type PythonFileOwner } from "./python_files.ts";
import { HARBOR_ENV, type HarborRun } from "./envs/harbor.ts";
import { WORKSPACE_ENV, type WorkspaceRun } from "./envs/workspace.ts";
import type { RunnableBlocks } from "../../tools/python_blocks.ts";
import { TransformedEnv } from "../../transforms/transformed_env.ts";
import { StepCounter } from "../../transforms/step_counter.ts";

/** Parts from which the envs of a run are made. */
export interface EnvSetup extends RunnableBlocks {
  /** Returns the run's pool of interpreters, which opens at the first call. */
  readonly pool: () => SessionPool;
  /** Owns the resources that all episodes share. */
  readonly stack: AsyncDisposableStack;
  /** The tools of the run, if there are any. */
  readonly tools?: RunTools | undefined;
  /** If set, prompts are also token ids, and trajectories record the tokens. */
  readonly tokenizer?: Tokenizer | undefined;
  /** Scores each episode. By default, episodes stay unscored. */
  readonly grader?: Grader | undefined;
  /** Transforms in files, for chat envs. */
  readonly transforms?: readonly TransformFile[] | undefined;
  readonly systemPrompt?: string | undefined;
  /** System message of env `python` for tasks without a system message. */
  readonly defaultSystem?: string | undefined;
  /** Timeout of a code block or tool call, in milliseconds. */
  readonly timeoutMs: number;
  readonly maxTurns: number;
  /** Parser of the calls in replies. */
  readonly parser?: (() => ToolCallParser) | undefined;
  /** Open domain of tau-bench, for env `tau-bench`. */
  readonly tauBench?: TauBenchRun | undefined;
  /** Open workspaces, for env `workspace`. */
  readonly workspace?: WorkspaceRun | undefined;
  /** Open Harbor tasks, for env `harbor`. */
  readonly harbor?: HarborRun | undefined;
}

/** Makes the env of an episode. `resumed` is the saved part of an episode that the env continues. */
export type MakeEnv = (task: Task, resumed?: InteractionResult) => Env | Promise<Env>;

/** An env of the command line. */
export interface EnvKind {
  /** A line for a help text. */
  readonly about: string;
  /**
   * Default maximum number of replies per episode.
   *
   * @default 8
   */
  readonly maxTurns?: number;
  /** Returns the maximum number of replies for a maximum number of turns, if some replies do not count as turns. */
  readonly maxReplies?: (turns: number) => number;
  /** Changes the prompts of training rows. */
  readonly editPrompt?: (text: string) => string;
  /** True if a reward is the gain over a baseline, not 1 for a right answer. */
  readonly rewardsGain?: boolean;
  /** True if the env's episodes run Python, so that the base image is prepared before the first episode. */
  readonly runsPython?: boolean;
  /** Prepares a run and opens the shared parts of the episodes. */
  open(setup: EnvSetup): MakeEnv | Promise<MakeEnv>;
}

/** Tells a model of the interpreter, if neither `--system` nor the task has a system message. */
export const PYTHON_SYSTEM =
  "You can run Python code. Write it in a block that begins with a line ```python and " +
  "ends with a line ```. The code runs at once, and the next message has what it printed. Variables are kept for " +
  "the next block. When you know the answer, reply without code.";

/** True if the conversation of a task begins with a system message. */
function hasSystem({ query }: Task): boolean {
  if (typeof query === "string") return false;
  const [first] = query;
  return first?.role === "system" || first?.role === "developer";
}

/** Name of the env of recursive language models. */
export const RLM_ENV = "rlm";
/** Least run time of a block whose code asks a model, in milliseconds. */
const RLM_BLOCK_MS = 600_000;

/** Makes a recursive language model. `answer` answers the questions of the code. */
export function rlmEnv(
  { answer, timeoutMs, ...options }: RlmEnvOptions & { timeoutMs: number; answer?: AnswerSubCall },
): RlmEnv {
  // the time of a block includes the time of the block's questions
  const env = new RlmEnv({ ...options, timeoutMs: Math.max(timeoutMs, RLM_BLOCK_MS) });
  if (answer !== undefined) env.answerSubCalls(answer);
  return env;
}

/** Envs by their names for `--env`. */
export const ENVS: Readonly<Record<string, EnvKind>> = {
  python: {
    about: "a chat in which the Python blocks of a reply run (the default)",
    runsPython: true,
    open(setup) {
      const { tools, pool, timeoutMs, runUnlabeled, runThoughts } = setup;
      const python = () => ({
        pool: pool(),
        timeoutMs,
        runUnlabeled,
        runThoughts,
        toolNames: tools?.names,
        toolLimits: { timeoutMs },
      });
      return (task) => {
        const systemPrompt = setup.systemPrompt ?? (hasSystem(task) ? undefined : setup.defaultSystem);
        return makeChatEnv({
          ...chatOptions(setup),
          systemPrompt,
          tools: tools?.transforms(),
          python: python(),
        });
      };
    },
  },
  tools: {
    about: "a chat in which the tool calls of a reply run; needs --tool or --mcp",
    open(setup) {
      const { tools } = setup;
      if (tools?.areForCode) {
        throw new UsageError(
          "Cannot play env 'tools' as it runs no code that could call tools: give --env python, or --tool-callers model",
        );
      }
      if (tools !== undefined) {
        return () => makeChatEnv({ ...chatOptions(setup), tools: tools.transforms() });
      }
      throw new UsageError("Cannot play env 'tools' as it needs tools: give --tool FILE or --mcp FILE");
    },
  },
  chat: {
    about: "a question and its answer, without tools",
    open(setup) {
      if (setup.tools === undefined) return () => makeChatEnv(chatOptions(setup));
      throw new UsageError("Cannot play env 'chat' with tools as it calls none: remove --tool and --mcp");
    },
  },
  [RLM_ENV]: {
    about:
      "a question about the column 'context', which the code of the model reads and asks the model about",
    maxTurns: 30,
    runsPython: true,
    open({ pool, grader, systemPrompt, timeoutMs, maxTurns, tokenizer, tools }) {
      if (tools !== undefined) {
        throw new UsageError(
          "Cannot play env 'rlm' with tools as its code has its own: remove --tool and --mcp",
        );
      }
      if (tokenizer !== undefined) {
        throw new UsageError("Cannot play env 'rlm' with --tokenizer alone: give --train-out FILE");
      }
      return () => rlmEnv({ pool: pool(), grader, systemPrompt, maxTurns, timeoutMs });
    },
  },
  "tau-bench": {
    about:
      "a conversation with a simulated user, with tools; needs --path, --domain and --user, without --tasks",
    maxTurns: 30,
    editPrompt: limitToOneCall,
    open: (setup) => async (_task, resumed) => await openToolUserEnv(setup, resumed),
  },
  [WORKSPACE_ENV]: {
    about: "work on files in a shell until submission, as in MLGym; needs --task, without --tasks",
    maxTurns: 50,
    rewardsGain: true,
    // each command, and the first command beyond the maximum, may be requested four times
    maxReplies: (turns) => 4 * (turns + 1),
    open: ({ workspace, maxTurns }) => {
      if (workspace === undefined) {
        throw new UsageError("Cannot play env 'workspace' as it must be opened: it is not");
      }
      return (task) => workspace.openEnv(task, { maxSteps: maxTurns });
    },
  },
  [REASONING_GYM]: {
    about: "questions of a data set of reasoning-gym; needs --path and --data-set, without --tasks",
    maxTurns: 1,
    open(setup) {
      if (setup.tools === undefined) return () => makeChatEnv(chatOptions(setup));
      throw new UsageError(
        `Cannot play env '${REASONING_GYM}' with tools as it calls none: remove --tool and --mcp`,
      );
    },
  },
  [HARBOR_ENV]: {
    about:
      "work in a shell on tasks in Harbor's format, whose verifier rewards; needs --harbor, without --tasks",
    maxTurns: 50,
    open: ({ harbor, maxTurns, systemPrompt, tokenizer }) => {
      if (harbor === undefined) {
        throw new UsageError("Cannot play env 'harbor' as it must be opened: it is not");
      }
      return () => new TransformedEnv(harbor.openEnv({ maxTurns, systemPrompt }), tokenTransforms(tokenizer));
    },
  },
  ...familyEnvs(),
};

/** Returns the envs of the families of procedural tasks. */
function familyEnvs(): Record<string, EnvKind> {
  return Object.fromEntries(FAMILY_NAMES.map((name) => {
    const family = FAMILIES[name];
    const env = `${FAMILY_PREFIX}${name}`;
    const kind: EnvKind = {
      about: family.about,
      maxTurns: familyTurns(family),
      runsPython: family.profile !== undefined,
      open(setup) {
        if (setup.tools !== undefined) {
          throw new UsageError(
            `Cannot play env '${env}' with other tools as it has its own: remove --tool and --mcp`,
          );
        }
        const pool = family.profile === undefined ? undefined : setup.pool();
        return () => familyEnv(name, { ...chatOptions(setup), pool, parser: setup.parser?.() });
      },
    };
    return [env, kind];
  }));
}

/** Name of the envs in files, in the lists of envs that options have. */
export const FILE_ENV = "file";

/** Returns the name of an env in the lists of envs that options have. */
export function envKindOf(env: string): string {
  return isPluginPath(env) ? FILE_ENV : isFamilyEnv(env) ? FAMILY_ENV : env;
}

/** Options of the env of a file. */
export interface FileEnvFlags extends PythonFileFlags {
  /** Permissions of the file. */
  envAllow?: readonly string[];
}

/**
 * Opens the env of a file.
 *
 * @throws {UsageError} if the file does not start, or is no env.
 */
export async function openEnvFile(
  path: string,
  { flags, owner }: { flags: FileEnvFlags; owner: PythonFileOwner },
): Promise<EnvFile> {
  const grants = { allow: flags.envAllow ?? [], allowFlag: "--env-allow" };
  if (isPythonPath(path)) {
    refuseGrants(grants);
    const { pythonEnvFile } = await import("../../plugins/python/python_env.ts");
    return owner.stack.use(await openPythonFile(path, pythonEnvFile, { flags, owner }));
  }
  const { envFile } = await import("../../plugins/env_file.ts");
  return await openPlugin({ path, ...grants }, envFile, owner);
}

/** Returns the env of a file as an env of the command line. */
export function fileEnvKind(file: EnvFile, { parser }: { parser: () => ToolCallParser }): EnvKind {
  const { python, system } = file.description;
  return {
    about: "an env in a file",
    runsPython: python,
    open(setup) {
      const { tools, pool, timeoutMs, runUnlabeled, runThoughts } = setup;
      if (!python && tools?.areForCode) {
        throw new UsageError(
          `Cannot play env '${file.description.name}' as it runs no code that could call tools: give --tool-callers model`,
        );
      }
      return (task) => {
        const systemPrompt = setup.systemPrompt ??
          (hasSystem(task) ? undefined : system ?? setup.defaultSystem);
        return fileEnv(file, {
          ...chatOptions(setup),
          systemPrompt,
          tools: tools?.transforms(),
          toolNames: tools?.names,
          parser: parser(),
          pool: python ? pool() : undefined,
          timeoutMs,
          runUnlabeled,
          runThoughts,
        });
      };
    },
  };
}

/** Maximum replies of an episode whose env has no default. */
export const DEFAULT_MAX_TURNS = 8;

/** Opens a conversation with a user, which ends by the user's choice or at the maximum number of turns. */
async function openToolUserEnv(
  { tauBench, maxTurns, tokenizer }: EnvSetup,
  resumed: InteractionResult | undefined,
): Promise<Env> {
  if (tauBench === undefined) {
    throw new UsageError("Cannot play env 'tau-bench' as it must be opened: it is not");
  }
  return new TransformedEnv(await tauBench.openEnv(resumed?.messages), [
    ...tokenTransforms(tokenizer),
    new StepCounter({ maxSteps: maxTurns }),
  ]);
}

/** Returns the options that all chat envs of a run share. */
function chatOptions(setup: EnvSetup): MakeChatEnvOptions {
  const { systemPrompt, maxTurns, grader, tokenizer, transforms = [] } = setup;
  const extensions = transforms.map((file) => file.makeTransforms());
  return { systemPrompt, maxTurns, grader, tokenizer, extensions };
}
