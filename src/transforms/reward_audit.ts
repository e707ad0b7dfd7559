import type { Observation, Step } from "../envs/env.ts";
import type { EpisodeCheckpoint } from "../episode_checkpoint.ts";
import { type Message, messageText } from "../message.ts";
import { requireKnownOptions } from "../options.ts";
import { codeOf, findHacks, type HackSign } from "./reward_audit/hack_signs.ts";
import type { Transform, TransformContext } from "./transform.ts";

/** A hack that an audit has found. */
export interface AuditedHack extends HackSign {
  /** Number of the reply, from 1. */
  readonly turn: number;
}

/** Options of {@linkcode RewardAudit}. */
export interface RewardAuditOptions {
  /**
   * What a hack does to the rewards of its episode, from the reply with the hack on. `flag` leaves them, `zero` makes
   * positive rewards 0.
   *
   * @default "flag"
   */
  onHack?: "flag" | "zero" | undefined;
}

const MAX_HACKS = 20;

/**
 * Searches the code and the tool calls of replies for known hacks: ways to get a reward without the work, such as an object
 * that equals everything, or files for the verifier. The last step has the hacks in `info.hacks`, which the row of the
 * episode keeps.
 *
 * The audit reads text, so that a sign is a hint and no proof: look at flagged episodes. A hack that is written another
 * way is not found. Append this transform after the transform that grades.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, EndOnFinalReply, replyAction, TransformedEnv } from "@paddock/paddock";
 * import { RewardAudit } from "@paddock/paddock/transforms";
 *
 * await using env = new TransformedEnv(new ChatEnv(), [new EndOnFinalReply(), new RewardAudit()]);
 * await env.reset({ id: "1", query: "Write f." });
 * const fence = "`".repeat(3);
 * const { info } = await env.step(replyAction(`${fence}python\nimport os\nos._exit(0)\n${fence}`));
 * assertEquals(info?.hacks, [{ kind: "exit", evidence: "os._exit", turn: 1 }]);
 * ```
 */
export class RewardAudit implements Transform {
  readonly #options: RewardAuditOptions;
  #hacks: readonly AuditedHack[] = [];

  constructor(options: RewardAuditOptions = {}) {
    requireKnownOptions("create RewardAudit", options, OPTIONS);
    this.#options = options;
  }

  reset(observation: Observation): Observation {
    this.#hacks = [];
    return observation;
  }

  step(step: Step, { action, turn }: TransformContext): Step {
    const { response, full } = action?.history ?? {};
    const last = response?.last ?? full?.last;
    const code = [codesOf(last), action?.command ?? ""].join("\n");
    const known = new Set(this.#hacks.map(({ kind }) => kind));
    const found = findHacks(code).filter(({ kind }) => !known.has(kind)).map((sign) => ({ ...sign, turn }));
    this.#hacks = [...this.#hacks, ...found].slice(0, MAX_HACKS);
    if (this.#hacks.length === 0) return step;
    const audited = { ...step, info: { ...step.info, hacks: this.#hacks } };
    if (this.#options.onHack !== "zero" || step.reward === null || step.reward <= 0) return audited;
    return { ...audited, reward: 0, rewardParts: { ...step.rewardParts, audit: -step.reward } };
  }

  /** {@inheritDoc Transform.checkpoint} */
  checkpoint(): EpisodeCheckpoint<RewardAudit> {
    const hacks = this.#hacks;
    return {
      copy: () => {
        const copy = new RewardAudit(this.#options);
        copy.#hacks = hacks;
        return copy;
      },
    };
  }
}

/** Returns the code of a reply, with the arguments of tool calls. */
function codesOf(message: Message | undefined): string {
  if (message === undefined || message.role !== "assistant") return "";
  const calls = (message.tool_calls ?? []).flatMap((call) => textsIn(call.arguments));
  return [codeOf(messageText(message)), ...calls].join("\n");
}

/** Returns the texts in the arguments of a call. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Names of the options. */
const OPTIONS: Readonly<Record<keyof RewardAuditOptions, true>> = { onHack: true };
