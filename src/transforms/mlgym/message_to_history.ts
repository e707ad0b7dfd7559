import { requireKnownOptions } from "../../options.ts";
import type { Observation, Step } from "../../envs/env.ts";
import type { EpisodeCheckpoint } from "../../episode_checkpoint.ts";
import { History } from "../../history.ts";
import { messageText } from "../../message.ts";
import type { Transform, TransformContext } from "../transform.ts";
import { mlgymRecordOf } from "./mlgym_record.ts";

/** Options of {@linkcode MessageToHistory}. */
export interface MessageToHistoryOptions {
  /**
   * Number of newest user messages that a prompt keeps in full, beside the first message. Older messages become `Old
   * output omitted (N lines)`, so the token ids are no longer append-only.
   * @default Infinity
   */
  lastObservations?: number | undefined;
}

/** Appends the message about a step to the history, with the role `user`. */
export class MessageToHistory implements Transform {
  readonly #last: number;
  /** The complete history, and the length before the first turn. */
  #fullHistory = History.fromChats([]);
  #opening = 0;

  /**
   * @throws {RangeError} when `lastObservations` is not an integer of at least 1.
   */
  constructor(options: MessageToHistoryOptions = {}) {
    requireKnownOptions("create MessageToHistory", options, { lastObservations: true });
    const { lastObservations = Infinity } = options;
    if (lastObservations !== Infinity && (!Number.isInteger(lastObservations) || lastObservations < 1)) {
      throw new RangeError(
        `Cannot shorten histories as 'lastObservations' must be a whole number >= 1: current value is ${lastObservations}`,
      );
    }
    this.#last = lastObservations;
  }

  reset(observation: Observation): Observation {
    this.#fullHistory = observation.history.prompt.append(userMessage(observation));
    this.#opening = this.#fullHistory.length;
    return { ...observation, history: { prompt: this.#fullHistory } };
  }

  step(step: Step, { observation }: TransformContext): Step {
    const shown = observation?.history.prompt.length ?? 0;
    const added = step.history.prompt.slice(shown);
    this.#fullHistory = this.#fullHistory.extend(added).append(userMessage(step));
    return { ...step, history: { prompt: this.#shortenHistory() } };
  }

  /** {@inheritDoc Transform.checkpoint} */
  checkpoint(): EpisodeCheckpoint<MessageToHistory> {
    const [fullHistory, opening] = [this.#fullHistory, this.#opening];
    return {
      copy: () => {
        const copy = new MessageToHistory({ lastObservations: this.#last });
        copy.#fullHistory = fullHistory;
        copy.#opening = opening;
        return copy;
      },
    };
  }

  #shortenHistory(): History {
    if (this.#last === Infinity) return this.#fullHistory;
    const messages = [...this.#fullHistory];
    const from = messages.flatMap(({ role }, at) => role === "user" ? [at] : []).at(-this.#last) ?? 0;
    return History.fromChats(messages.map((message, at) => {
      if (message.role !== "user" || at < this.#opening || at >= from) return message;
      return { ...message, content: `Old output omitted (${countLines(messageText(message))} lines)` };
    }));
  }
}

function userMessage(observation: Observation): { role: string; content: string } {
  return { role: "user", content: mlgymRecordOf(observation).message ?? "" };
}

function countLines(text: string): number {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}
