import type { Action, Step } from "../../envs/env.ts";
import type { AgentConfig } from "../../envs/workspace/agent_config.ts";
import { REPLY_PARSERS } from "../../envs/workspace/replies/reply_parsers.ts";
import type { ParsedReply, ReplyParser } from "../../envs/workspace/replies/reply_parser.ts";
import { messageText } from "../../message.ts";
import type { Transform, TransformContext } from "../transform.ts";

/** How an {@linkcode IsolateCodeBlock} finds commands. */
export interface IsolateCodeBlockOptions {
  /** Whose parser reads the replies. */
  readonly agent: AgentConfig;
  /** Added to the reward of a step whose reply held no command; nothing unless given. */
  rewardWrongFormat?: number | undefined;
  /** How often a policy is asked once more in a row before the episode ends with `exit_format`; 3 unless given. */
  maxRequeries?: number | undefined;
}

/** Ends an episode whose policy does not find the format. */
const EXIT_FORMAT = "exit_format";

/**
 * Takes the command out of a reply: `command` is what the env runs. A reply without one is not run: `retry` has the
 * policy asked once more, for a bounded number of times, and `rewardWrongFormat` is added to that step's reward.
 */
export class IsolateCodeBlock implements Transform {
  readonly #agent: AgentConfig;
  readonly #parser: ReplyParser;
  readonly #rewardWrongFormat: number | undefined;
  readonly #maxRequeries: number;
  #faultsInRow = 0;

  /** @throws {RangeError} when nobody knows the agent's parser, or `maxRequeries` is no whole number of at least 0. */
  constructor(options: IsolateCodeBlockOptions) {
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
    this.#agent = agent;
    this.#parser = parser;
    this.#rewardWrongFormat = rewardWrongFormat;
    this.#maxRequeries = maxRequeries;
  }

  reset<T>(observation: T): T {
    this.#faultsInRow = 0;
    return observation;
  }

  action(action: Action): Action {
    const parsed = this.#parse(action.mlgym?.textResponse ?? replyText(action));
    if ("action" in parsed) {
      this.#faultsInRow = 0;
      const mlgym = { ...action.mlgym, textResponse: parsed.action, retry: false };
      return { ...action, command: parsed.action, mlgym };
    }
    const retry = ++this.#faultsInRow <= this.#maxRequeries;
    return { ...action, command: EXIT_FORMAT, mlgym: { ...action.mlgym, retry, formatFault: parsed.fault } };
  }

  step(step: Step, { action }: TransformContext): Step {
    const { retry = false, formatFault } = action?.mlgym ?? {};
    const told = { ...step, mlgym: { ...step.mlgym, retry, formatFault } };
    if (formatFault === undefined || this.#rewardWrongFormat === undefined) return told;
    return {
      ...told,
      reward: (step.reward ?? 0) + this.#rewardWrongFormat,
      rewardParts: { ...step.rewardParts, wrong_format: this.#rewardWrongFormat },
    };
  }

  #parse(reply: string): ParsedReply {
    if (reply.trim() === "") return { fault: "The model response is empty." };
    return this.#parser.parse(reply, this.#agent.tools.commands ?? []);
  }
}

function replyText({ history, text }: Action): string {
  const last = history?.response?.last ?? history?.full?.last;
  return last === undefined ? text?.response ?? "" : messageText(last);
}
