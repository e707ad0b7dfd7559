import type { ConnectError } from "@connectrpc/connect";
import type { Account, BudgetLease } from "../../../admission/budget.ts";
import { STREAM_QUEUE_BYTES } from "../../../limits.ts";
import { toConnectError } from "./connect_error.ts";

/** Event of a process: a piece of output, or the end. */
export type ProcessOutput =
  | { readonly stream: "stdout" | "stderr"; readonly bytes: Uint8Array }
  | { readonly exitCode: number; readonly exited: boolean; readonly status: string; readonly error?: string };

/** Memory of a piece of output beside the bytes. */
const PIECE_BYTES = 64;

/** Output of a process that a client has not read yet. The bytes count as waiting data of the owner. */
export class EventQueue implements Disposable {
  readonly #lease: BudgetLease;
  readonly #onDispose: () => void;
  #outputs: ProcessOutput[] = [];
  #bytes = 0;
  #error: ConnectError | undefined;
  #isDisposed = false;
  #changed = Promise.withResolvers<void>();
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(memory: Account, onDispose: () => void) {
    this.#lease = memory.take(0);
    this.#onDispose = onDispose;
  }

  /** Adds output. Returns a promise that resolves when there is room for more; `undefined` if there is room now. */
  push(output: ProcessOutput & { bytes: Uint8Array }): Promise<void> | undefined {
    const bytes = output.bytes.length + PIECE_BYTES;
    try {
      this.#lease.grow(bytes);
    } catch (error) {
      this.fail(toConnectError(error));
      return undefined;
    }
    this.#bytes += bytes;
    this.#outputs.push(output);
    this.#changed.resolve();
    if (this.#bytes <= STREAM_QUEUE_BYTES) return undefined;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  /** Adds the end of the process. */
  end(output: ProcessOutput): void {
    this.#outputs.push(output);
    this.#changed.resolve();
  }

  /** Adds an error, which the reader throws after the output. */
  fail(error: ConnectError): void {
    this.#error ??= error;
    this.#changed.resolve();
  }

  /**
   * Returns the waiting output, at least one event; no event if the signal aborts first.
   *
   * @throws {ConnectError} that was added.
   */
  async read(signal: AbortSignal): Promise<ProcessOutput[]> {
    const aborted = Promise.withResolvers<void>();
    const onAbort = () => aborted.resolve();
    signal.addEventListener("abort", onAbort);
    try {
      while (this.#outputs.length === 0 && this.#error === undefined && !signal.aborted) {
        await Promise.race([this.#changed.promise, aborted.promise]);
        this.#changed = Promise.withResolvers();
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    const outputs = this.#outputs;
    if (outputs.length === 0 && this.#error) throw this.#error;
    this.#free();
    return outputs;
  }

  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#free();
    this.#lease[Symbol.dispose]();
    this.#onDispose();
  }

  #free(): void {
    this.#outputs = [];
    this.#bytes = 0;
    this.#lease.resize(0);
    this.#drained?.resolve();
    this.#drained = undefined;
  }
}
