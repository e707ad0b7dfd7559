import type { Tokenizer } from "../../chat/tokenizer.ts";
import { ChatEnv } from "../../envs/chat_env.ts";
import type { Env } from "../../envs/env.ts";
import type { Grader } from "../../rewards/grader.ts";
import type { FileTransforms } from "../../plugins/transform_file.ts";
import { EndOnFinalReply } from "../../transforms/end_episode.ts";
import { GradeEpisode } from "../../transforms/grade_episode.ts";
import { IncrementalTokenizer } from "../../transforms/incremental_tokenizer.ts";
import { PythonInterpreter, type PythonInterpreterOptions } from "../../transforms/python_interpreter.ts";
import { StepCounter } from "../../transforms/step_counter.ts";
import type { Transform } from "../../transforms/transform.ts";
import { TransformedEnv } from "../../transforms/transformed_env.ts";

/** Options of {@linkcode makeChatEnv}. */
export interface MakeChatEnvOptions {
  /** Replies that an episode may take. */
  maxTurns: number;
  systemPrompt?: string | undefined;
  /** Transforms that run the tool calls of a reply. */
  tools?: readonly Transform[] | undefined;
  /** Interpreters for the Python blocks of a reply. By default, no block runs. */
  python?: PythonInterpreterOptions & { readonly timeoutMs: number } | undefined;
  /** Gives each prompt as token ids too. */
  tokenizer?: Tokenizer | undefined;
  /** Transforms of files: each file has a transform for steps and a transform for the reward. */
  extensions?: readonly FileTransforms[] | undefined;
  /** Answers a reply that no tool answered, or ends the episode. By default, such a reply ends the episode. */
  answer?: Transform | undefined;
  /** Scores an episode at the end. By default, episodes stay unscored. */
  grader?: Grader | undefined;
  /** Scores an episode without a `grader`. */
  grading?: Transform | undefined;
}

/**
 * Makes the env of a chat episode, for the command line and the server. The env runs the tool calls and Python blocks
 * of each reply. The episode ends after a reply without any, or after `maxTurns` replies.
 */
export function makeChatEnv(options: MakeChatEnvOptions): Env {
  const { maxTurns, systemPrompt, tools = [], python, tokenizer, grader, answer, extensions = [] } = options;
  const grading = grader === undefined ? options.grading : new GradeEpisode({ grader });
  return new TransformedEnv(new ChatEnv({ systemPrompt }), [
    ...tools,
    ...(python === undefined ? [] : [new PythonInterpreter(python)]),
    ...extensions.map(({ step }) => step),
    ...(answer === undefined ? [] : [answer]),
    ...tokenTransforms(tokenizer),
    ...(answer === undefined ? [new EndOnFinalReply()] : []),
    new StepCounter({ maxSteps: maxTurns }),
    ...(grading === undefined ? [] : [grading]),
    ...extensions.map(({ reward }) => reward),
  ]);
}

/** Returns the transforms that keep an episode's tokens. There are none without a tokenizer. */
export function tokenTransforms(tokenizer: Tokenizer | undefined): Transform[] {
  return tokenizer === undefined ? [] : [new IncrementalTokenizer({ tokenizer, onRewrite: "keep" })];
}
