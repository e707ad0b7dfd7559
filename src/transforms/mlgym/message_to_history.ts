import type { Observation, Step } from "../../envs/env.ts";
import { History } from "../../history.ts";
import { messageText } from "../../message.ts";
import type { Transform, TransformContext } from "../transform.ts";
import { mlgymRecordOf } from "./mlgym_record.ts";

/** How much a {@linkcode MessageToHistory} shows. */
export interface MessageToHistoryOptions {
  /**
   * How many of the newest messages of the user a prompt holds as they were said, the first message beside them; all
   * unless given. The others become `Old output omitted (N lines)`, so tokens are not only added to any more.
   */
  lastObservations?: number | undefined;
}

/** Puts what is said of a step behind the history, in the name of the user. */
export class MessageToHistory implements Transform {
  readonly #last: number;
  /** What was said in all, and how much of it was said before the first turn. */
  #whole = History.fromChats([]);
  #opening = 0;

  /** @throws {RangeError} when `lastObservations` is no whole number of at least 1. */
  constructor({ lastObservations = Infinity }: MessageToHistoryOptions = {}) {
    if (lastObservations !== Infinity && (!Number.isInteger(lastObservations) || lastObservations < 1)) {
      throw new RangeError(
        `Cannot shorten histories as 'lastObservations' must be a whole number >= 1: current value is ${lastObservations}`,
      );
    }
    this.#last = lastObservations;
  }

  reset(observation: Observation): Observation {
    this.#whole = observation.history.prompt.append(said(observation));
    this.#opening = this.#whole.length;
    return { ...observation, history: { prompt: this.#whole } };
  }

  step(step: Step, { observation }: TransformContext): Step {
    const shown = observation?.history.prompt.length ?? 0;
    const added = step.history.prompt.slice(shown);
    this.#whole = this.#whole.extend(added).append(said(step));
    return { ...step, history: { prompt: this.#shortened() } };
  }

  #shortened(): History {
    if (this.#last === Infinity) return this.#whole;
    const messages = [...this.#whole];
    const from = messages.flatMap(({ role }, at) => role === "user" ? [at] : []).at(-this.#last) ?? 0;
    return History.fromChats(messages.map((message, at) => {
      if (message.role !== "user" || at < this.#opening || at >= from) return message;
      return { ...message, content: `Old output omitted (${lineCount(messageText(message))} lines)` };
    }));
  }
}

function said(observation: Observation): { role: string; content: string } {
  return { role: "user", content: mlgymRecordOf(observation).message ?? "" };
}

function lineCount(text: string): number {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}
