import { clock } from "../clock.ts";
import { latin1 } from "../script/byte_text.ts";

/** Unread output at which a coprocess waits, as a pipe of Linux holds that many bytes. */
const PIPE_BYTES = 65_536;

const encoder = new TextEncoder();

/** The state of a script's descriptors, as the engine keeps them. */
export interface DescriptorState {
  fileDescriptors?: Map<number, string> | undefined;
  inputFds?: Set<number> | undefined;
  readonly fdAliases?: ReadonlyMap<number, ReadonlySet<number>> | undefined;
}

/** A moment for which others wait. */
class Signal {
  #wake = Promise.withResolvers<void>();

  get next(): Promise<void> {
    return this.#wake.promise;
  }

  raise(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
  }
}

/** The input of a coprocess, to which its shell writes until the shell closes it. Each character is one byte. */
export class CoprocInput {
  #text = "";
  #isClosed = false;
  readonly #changed = new Signal();
  /** Called when the coprocess begins to wait for input, and when it waits no longer. */
  onWait: (isWaiting: boolean, untilEnd: boolean) => void = () => {};
  /** Prints what the coprocess has buffered. */
  flush: () => void = () => {};
  /** Prints at once where the stdout of the coprocess goes, or is undefined if a command takes it. */
  printer: () => ((text: string) => void) | undefined = () => undefined;
  /** False while a pipe or a redirection gives commands another input. */
  isCurrent = true;

  get text(): string {
    return this.#text;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  write(bytes: Uint8Array): void {
    this.#text += latin1(bytes);
    this.onWait(false, false); // it wakes up
    this.#changed.raise();
  }

  close(): void {
    this.#isClosed = true;
    this.onWait(false, false);
    this.#changed.raise();
  }

  /** Sets what is left of the input. */
  leave(text: string): void {
    this.#text = text;
  }

  /** Waits until `isEnough` of the input is there, or the input ends. */
  async waitFor(isEnough: (text: string) => boolean, { untilEnd = false } = {}): Promise<void> {
    while (!this.#isClosed && !isEnough(this.#text)) {
      this.flush();
      this.onWait(true, untilEnd);
      await this.#changed.next;
    }
    this.onWait(false, untilEnd);
  }

  /** Waits for the end of the input. */
  async waitForEnd(): Promise<void> {
    await this.waitFor(() => false, { untilEnd: true });
  }
}

/** The pipes between a shell and its coprocess. */
export class CoprocPipes {
  readonly input = new CoprocInput();
  /** Path by which the shell's descriptor writes to the input. */
  readonly path: string;
  readonly readDescriptor: number;
  readonly writeDescriptor: number;
  #output = "";
  #hasEnded = false;
  /** What the coprocess waits for, if it waits. */
  #waiting: "input" | "end" | undefined;
  readonly #changed = new Signal();
  readonly #drained = new Signal();

  constructor(pid: number, state: DescriptorState) {
    const used = state.fileDescriptors ?? new Map<number, string>();
    const free = (from: number) => {
      let number = from;
      while (used.has(number)) number--;
      return number;
    };
    this.path = `/dev/.coproc/${pid}`;
    this.readDescriptor = free(63);
    this.writeDescriptor = free(this.readDescriptor === 63 ? 60 : this.readDescriptor - 4);
    state.fileDescriptors = new Map([
      ...used,
      [this.readDescriptor, ""],
      [this.writeDescriptor, `__file_append__:${this.path}`],
    ]);
    state.inputFds = new Set([...state.inputFds ?? [], this.readDescriptor]);
    this.input.onWait = (isWaiting, untilEnd) => {
      this.#waiting = isWaiting ? untilEnd ? "end" : "input" : undefined;
      this.#changed.raise();
    };
  }

  /** True if a descriptor reads the output: the first one, or a copy of it. */
  isRead(descriptor: number, state: DescriptorState): boolean {
    return descriptor === this.readDescriptor ||
      state.fdAliases?.get(descriptor)?.has(this.readDescriptor) === true;
  }

  /** Adds text to the output. */
  print(text: string): void {
    this.#output += latin1(encoder.encode(text));
    this.#changed.raise();
  }

  end(): void {
    this.#hasEnded = true;
    this.#changed.raise();
  }

  /** Closes the input if no descriptor of the shell writes to it. */
  closeUnused({ fileDescriptors }: DescriptorState): void {
    if (this.input.isClosed) return;
    if (![...fileDescriptors?.values() ?? []].some((value) => value.endsWith(this.path))) this.input.close();
  }

  /** Waits until the coprocess waits for input or has ended. */
  async blocked(): Promise<void> {
    while (!this.#hasEnded && this.#waiting === undefined) await this.#changed.next;
  }

  /** True if the coprocess must wait until its shell has read. Resolves when the shell has. */
  get drained(): Promise<void> | undefined {
    return this.#output.length > PIPE_BYTES ? this.#drained.next : undefined;
  }

  /**
   * Waits until a reader has a line, or until nothing more comes: the coprocess has ended or waits for input. Moves the
   * output to the descriptors that read it. Returns `false` if nothing comes although the coprocess runs: in bash both
   * would wait for ever.
   */
  async deliver(state: DescriptorState, wanted: { readonly line: boolean; readonly timeMs?: number }) {
    const unread = () => (state.fileDescriptors?.get(this.readDescriptor) ?? "") + this.#output;
    let isLate = false;
    const timer = wanted.timeMs === undefined ? undefined : clock.startTimer(() => {
      isLate = true;
      this.#changed.raise();
    }, wanted.timeMs);
    const isReady = () =>
      this.#hasEnded || isLate || this.#output.length > PIPE_BYTES ||
      (this.#waiting !== undefined && wanted.timeMs === undefined) ||
      (wanted.line && unread().includes("\n"));
    while (!isReady()) await this.#changed.next;
    if (timer !== undefined) clock.stopTimer(timer);
    const isComplete = this.#hasEnded || isLate || unread() !== "";
    this.#move(state);
    return isComplete;
  }

  #move(state: DescriptorState): void {
    const descriptors = state.fileDescriptors;
    if (this.#output === "" || !descriptors) return;
    for (const [number, content] of descriptors) {
      if (this.isRead(number, state)) descriptors.set(number, content + this.#output);
    }
    this.#output = "";
    this.#drained.raise();
  }
}
