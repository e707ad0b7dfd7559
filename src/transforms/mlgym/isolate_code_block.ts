import { requireKnownOptions } from "../../options.ts";
import type { Action } from "../../envs/action.ts";
import type { Step } from "../../envs/env.ts";
import { withTaskCommands } from "../../envs/workspace/config/agent_tools.ts";
import { REPLY_PARSERS } from "../../envs/workspace/replies/reply_parsers.ts";
import type { ParsedReply, ReplyParser } from "../../envs/workspace/agent_config.ts";
import type { EpisodeCheckpoint } from "../../episode_checkpoint.ts";
import { type Message, messageText } from "../../message.ts";
import type { Task } from "../../task.ts";
import type { Transform, TransformContext } from "../transform.ts";
import { addToMLGymAction, addToMLGymRecord, mlgymRecordOf } from "./mlgym_record.ts";
import { findWorkspaceTask, type MLGymTasks } from "./template_values.ts";

/** Options of {@linkcode IsolateCodeBlock}. */
export interface IsolateCodeBlockOptions extends MLGymTasks {
  /**
   * Added to the reward of a step whose reply has no command.
   * @default none
   */
  rewardWrongFormat?: number | undefined;
  /**
   * Maximum number of retries in a row before the episode ends with `exit_format`.
   * @default 3
   */
  maxRequeries?: number | undefined;
}

/** Command that ends an episode whose policy does not follow the format. */
const EXIT_FORMAT = "exit_format";

/** Fault of a reply that is a command as a whole, and was cut off: the rest of the command is missing. */
const CUT_OFF = "The model response was cut off at its maximum number of tokens.";

/**
 * Extracts the command from a reply into `command`, which the env runs. A reply without a command is not
 * run: `retry` makes the env query the policy again, a limited number of times, and `rewardWrongFormat` is
 * added to the step's reward.
 */
export class IsolateCodeBlock implements Transform {
  readonly #options: IsolateCodeBlockOptions;
  readonly #parser: ReplyParser;
  readonly #rewardWrongFormat: number | undefined;
  readonly #maxRequeries: number;
  #consecutiveFaults = 0;

  /**
   * @throws {RangeError} when the agent's parser is unknown, or `maxRequeries` is not an integer of at least
   * 0.
   */
  constructor(options: IsolateCodeBlockOptions) {
    requireKnownOptions("create IsolateCodeBlock", options, {
      rewardWrongFormat: true,
      maxRequeries: true,
      tasks: true,
      agent: true,
    });
    const { agent, rewardWrongFormat, maxRequeries = 3 } = options;
    const parser = REPLY_PARSERS[agent.outputParser];
    if (parser === undefined) {
      const known = Object.keys(REPLY_PARSERS).join(", ");
      throw new RangeError(
        `Cannot isolate code as the parser must be one of ${known}: current value is '${agent.outputParser}'`,
      );
    }
    if (!Number.isInteger(maxRequeries) || maxRequeries < 0) {
      throw new RangeError(
        `Cannot isolate code as 'maxRequeries' must be a whole number >= 0: current value is ${maxRequeries}`,
      );
    }
    this.#options = options;
    this.#parser = parser;
    this.#rewardWrongFormat = rewardWrongFormat;
    this.#maxRequeries = maxRequeries;
  }

  reset<T>(observation: T): T {
    this.#consecutiveFaults = 0;
    return observation;
  }

  action(action: Action, { task }: TransformContext): Action {
    const reply = lastReply(action);
    const text = mlgymRecordOf(action).textResponse ?? replyText(action);
    const found = this.#parse(text, task);
    const isWholeReply = "action" in found && found.action === text;
    const parsed = reply?.is_complete === false && isWholeReply ? { fault: CUT_OFF } : found;
    if ("action" in parsed) {
      this.#consecutiveFaults = 0;
      const command = parsed.action;
      return addToMLGymAction({ ...action, command }, { textResponse: command, retry: false });
    }
    const retry = ++this.#consecutiveFaults <= this.#maxRequeries;
    return addToMLGymAction({ ...action, command: EXIT_FORMAT }, { retry, formatFault: parsed.fault });
  }

  step(step: Step, { action }: TransformContext): Step {
    const { retry = false, formatFault } = mlgymRecordOf(action);
    const flagged = addToMLGymRecord(step, { retry, formatFault });
    if (formatFault === undefined || this.#rewardWrongFormat === undefined) return flagged;
    return {
      ...flagged,
      reward: (step.reward ?? 0) + this.#rewardWrongFormat,
      rewardParts: { ...step.rewardParts, wrong_format: this.#rewardWrongFormat },
    };
  }

  /** {@inheritDoc Transform.checkpoint} */
  checkpoint(): EpisodeCheckpoint<IsolateCodeBlock> {
    const faults = this.#consecutiveFaults;
    return {
      copy: () => {
        const copy = new IsolateCodeBlock(this.#options);
        copy.#consecutiveFaults = faults;
        return copy;
      },
    };
  }

  #parse(reply: string, task: Task): ParsedReply {
    if (reply.trim() === "") return { fault: "The model response is empty." };
    const { agent } = this.#options;
    const workspaceTask = findWorkspaceTask(task, this.#options);
    return this.#parser.parse(
      reply,
      (workspaceTask ? withTaskCommands(agent, workspaceTask) : agent).tools.commands ?? [],
    );
  }
}

function lastReply({ history }: Action): Message | undefined {
  return history?.response?.last ?? history?.full?.last;
}

function replyText(action: Action): string {
  const last = lastReply(action);
  return last === undefined ? action.text?.response ?? "" : messageText(last);
}
