import type { Tokenizer } from "../../chat/tokenizer.ts";
import type { Env } from "../../envs/env.ts";
import type { Grader } from "../../rewards/grader.ts";
import type { SessionPool } from "../../sandbox/exec.ts";
import type { Task } from "../../task.ts";
import type { MakeTools } from "./tools.ts";
import type { InteractionResult } from "../../rollout/interaction_result.ts";
import { makeChatEnv, type MakeChatEnvOptions, tokenTransforms } from "../../rollout/make_chat_env.ts";
import { limitToOneCall } from "../../rollout/training_rollout.ts";
import type { TauBenchRun } from "./tau_bench.ts";
import { UsageError } from "../errors.ts";
import { WORKSPACE_ENV, type WorkspaceRun } from "./workspace.ts";
import { TransformedEnv } from "../../transforms/transformed_env.ts";
import { StepCounter } from "../../transforms/step_counter.ts";

/** Parts from which the envs of a run are made. */
export interface EnvSetup {
  /** Opens the run's interpreters, once; an env that needs none does not ask. */
  readonly pool: () => SessionPool;
  /** Owner of resources shared by all episodes; disposing it closes them. */
  readonly stack: AsyncDisposableStack;
  /** The tools that were asked for; none when none was. */
  readonly tools?: MakeTools | undefined;
  /** Gives each prompt as token ids too, and trajectories what a trainer needs of them. */
  readonly tokenizer?: Tokenizer | undefined;
  /** Scores each episode; without one they stay unscored. */
  readonly grader?: Grader | undefined;
  readonly systemPrompt?: string | undefined;
  /** Milliseconds that a block of code, or a call, may take. */
  readonly timeoutMs: number;
  readonly maxTurns: number;
  /** The domain of tau-bench that is played, where one is. */
  readonly tauBench?: TauBenchRun | undefined;
  /** The tasks that are worked on, where they are. */
  readonly workspace?: WorkspaceRun | undefined;
}

/** Makes an episode's env; `resumed` is what the episode goes on from. */
export type MakeEnv = (task: Task, resumed?: InteractionResult) => Env | Promise<Env>;

/** An env that the command line knows. */
export interface EnvKind {
  /** One line for a help text. */
  readonly about: string;
  /** Replies that an episode may take unless told otherwise. */
  readonly maxTurns?: number;
  /** Replies that an episode of so many turns may take, where some do not count. */
  readonly maxReplies?: (turns: number) => number;
  /** Changes the prompts that are written for a trainer, where the env wants that. */
  readonly editPrompt?: (text: string) => string;
  /** Whether a reward is how much better than a baseline an episode was, and not whether it was right. */
  readonly rewardsGain?: boolean;
  /** Whether its episodes run Python, for which a base image is made ready. */
  readonly runsPython?: boolean;
  /** Prepares a run: what episodes share is opened here. */
  open(setup: EnvSetup): MakeEnv | Promise<MakeEnv>;
}

/** The envs by the names that `--env` takes. */
export const ENVS: Readonly<Record<string, EnvKind>> = {
  python: {
    about: "a chat in which the Python blocks of a reply are run (the default)",
    runsPython: true,
    open(setup) {
      const { tools, pool, timeoutMs } = setup;
      return () =>
        makeChatEnv({ ...chatOptions(setup), tools: tools?.(), python: { pool: pool(), timeoutMs } });
    },
  },
  tools: {
    about: "a chat in which the calls of a reply are run; needs --tool or --mcp",
    open(setup) {
      const { tools } = setup;
      if (tools !== undefined) return () => makeChatEnv({ ...chatOptions(setup), tools: tools() });
      throw new UsageError("Cannot play env 'tools' as it needs tools: give --tool FILE or --mcp FILE");
    },
  },
  chat: {
    about: "a question and its answer, without tools",
    open(setup) {
      if (setup.tools === undefined) return () => makeChatEnv(chatOptions(setup));
      throw new UsageError("Cannot play env 'chat' with tools as it calls none: leave --tool and --mcp out");
    },
  },
  "tau-bench": {
    about: "a talk with a user who wants something done; needs --path, --domain and --user, and no --tasks",
    maxTurns: 30,
    editPrompt: limitToOneCall,
    open: (setup) => async (_task, resumed) => await toolUserEnv(setup, resumed),
  },
  [WORKSPACE_ENV]: {
    about: "work on files in a shell until it is submitted, as in MLGym; needs --task, and no --tasks",
    maxTurns: 50,
    rewardsGain: true,
    // each command, and the one that would be too many, may be asked for four times
    maxReplies: (turns) => 4 * (turns + 1),
    open: ({ workspace, maxTurns }) => {
      if (workspace === undefined) {
        throw new UsageError("Cannot play env 'workspace' as it must be opened: it is not");
      }
      return (task) => workspace.openEnv(task, { maxSteps: maxTurns });
    },
  },
};

/** Replies that an episode may take where its env does not say. */
export const MAX_TURNS = 8;

/** A talk with a user, which ends when they are done, or at the limit. */
async function toolUserEnv(
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

/** Returns what all chat envs of a run have in common. */
function chatOptions({ systemPrompt, maxTurns, grader, tokenizer }: EnvSetup): MakeChatEnvOptions {
  return { systemPrompt, maxTurns, grader, tokenizer };
}
