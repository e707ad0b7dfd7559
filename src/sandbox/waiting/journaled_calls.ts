import { writeIntegers } from "../../numbers/exact_numbers.ts";
import type { WaitingCall } from "../contract/exec.ts";
import type { HostTool } from "../host_tool.ts";
import {
  type CallJournal,
  type Divergence,
  MAX_JOURNAL_BYTES,
  textBytes,
  toWaitingCall,
  valueOf,
} from "./journal.ts";

/** What a program has come to: a call that waits, or a call that differs from the journal. */
export type CallStop = { readonly call: WaitingCall } | { readonly divergence: Divergence };

interface MadeCall {
  readonly name: string;
  readonly args: string;
  readonly answered: PromiseWithResolvers<string>;
}

/**
 * The calls of a run of a program. Calls that the journal knows get their answers from the journal; the first further
 * call waits.
 */
export class JournaledCalls {
  readonly #journal: CallJournal;
  readonly #made: MadeCall[] = [];
  /** Number of calls that this run has answered. */
  #answered = 0;
  /** Size of this run's calls and answers. A second run finds the same sizes at the same calls. */
  #bytes = 0;
  #divergence: Divergence | undefined;
  #onStop: PromiseWithResolvers<CallStop> = Promise.withResolvers();
  #hasStopped = false;

  constructor(journal: CallJournal) {
    this.#journal = journal;
  }

  /** True until this run has made all calls of the journal: its output was seen before. */
  get isReplaying(): boolean {
    return this.#made.length < this.#journal.entries.length;
  }

  /** Returns tools that wait for an answer in place of running. */
  toTools(tools: readonly HostTool[]): HostTool[] {
    return tools.map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
      exactIntegers: true,
      run: (args) => this.#call(name, args),
    }));
  }

  /** Resolves when a call waits, or differs from the journal. */
  stop(): Promise<CallStop> {
    return this.#onStop.promise;
  }

  /** Goes on after the journal has got the answer of the call that waits. */
  continue(): void {
    this.#onStop = Promise.withResolvers();
    this.#hasStopped = false;
    this.#answerCalls();
  }

  /** The first call of this run that differs from the journal, if any. */
  get divergence(): Divergence | undefined {
    return this.#divergence;
  }

  /** Returns the first call of the journal that this run has not made. */
  missing(): Divergence | undefined {
    const index = this.#made.length;
    const entry = this.#journal.entries[index];
    return entry && { call: toWaitingCall(entry, index) };
  }

  async #call(name: string, args: Record<string, unknown>): Promise<unknown> {
    const text = JSON.stringify(args, writeIntegers);
    const index = this.#made.length;
    const entry = this.#journal.entries[index];
    if (entry && (entry.name !== name || entry.args !== text)) {
      this.#divergence ??= { call: toWaitingCall(entry, index), found: { name, arguments: args } };
      this.#stop({ divergence: this.#divergence });
      return await new Promise(() => {}); // the program is interrupted
    }
    const bytes = textBytes(text);
    if (this.#bytes + bytes > MAX_JOURNAL_BYTES) {
      throw new Error(
        `the calls and answers of one exec must have at most ${MAX_JOURNAL_BYTES} bytes together while it can wait`,
      );
    }
    this.#bytes += bytes;
    const answered = Promise.withResolvers<string>();
    this.#made.push({ name, args: text, answered });
    this.#answerCalls();
    return valueOf(await answered.promise);
  }

  /** Gives the calls the answers that they got at this point of the first run, and lets the next call wait. */
  #answerCalls(): void {
    const { entries } = this.#journal;
    for (;;) {
      const entry = entries[this.#answered];
      const call = this.#made[this.#answered];
      if (!call || (entry && entry.made > this.#made.length)) return;
      if (!entry) return this.#wait(call);
      this.#answered++;
      this.#bytes += textBytes(entry.answer);
      call.answered.resolve(entry.answer);
    }
  }

  #wait({ name, args }: MadeCall): void {
    this.#journal.wait({ name, args }, this.#made.length);
    if (this.#hasStopped) return;
    this.#stop({ call: toWaitingCall({ name, args }, this.#answered) });
  }

  #stop(stop: CallStop): void {
    this.#hasStopped = true;
    this.#onStop.resolve(stop);
  }
}
