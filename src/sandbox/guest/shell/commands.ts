import type { FileSystem } from "../emscripten.ts";
import { clock, type ShellLimits } from "./clock.ts";
import { ShellFiles } from "./files.ts";
import { latin1 } from "./script/byte_text.ts";
import { type CommandRequest, ShellCommand } from "./shell_command.ts";

/**
 * Commands that may exist at the same time. Python runs half as many, and those that it kills take a moment to end.
 */
const MAX_COMMANDS = 32;
const MIN_SHARE_BYTES = 4 * 1024 * 1024;

const [EAGAIN, EINVAL] = [6, 28];
const INTERRUPTED_CODE = 130;
const START_HEAD_BYTES = 12;

const decoder = new TextDecoder();

interface CommandsParts {
  readonly fs: FileSystem;
  /** Byte that the supervisor sets to interrupt the running code. */
  readonly interrupt: Uint8Array;
  /** Blocks for `ms` or until an interrupt. */
  readonly pause: (ms: number) => void;
  /** Called at each step of a command, if the session has a virtual clock. */
  readonly onStep?: (() => void) | undefined;
  readonly limits: ShellLimits;
}

/**
 * The commands of the shell that Python runs, each in an engine of its own. They run while Python has left its stack,
 * and Python takes their output and runs their Python programs. All requests come from the guest: a false request harms
 * only the guest.
 */
export class ShellCommands {
  readonly #parts: CommandsParts;
  readonly #commands = new Map<number, ShellCommand>();
  /** Commands with events that Python does not know of. */
  readonly #news = new Set<number>();
  #wake: (() => void) | undefined;
  #waitMs = 0;
  #isSlice = false;

  constructor(parts: CommandsParts) {
    this.#parts = parts;
    clock.attach(parts.interrupt, () => this.#takeInterrupt(), parts.onStep);
  }

  /** True if a command has not ended. */
  get wereUsed(): boolean {
    return this.#commands.size > 0;
  }

  /** Handles a request of `bridge.py`. Returns 0 or an error code. */
  handle(operation: string, request: Uint8Array): number {
    const view = new DataView(request.buffer, request.byteOffset, request.length);
    if (operation === "X") return this.#start(request, view);
    if (operation === "R") return this.#reply(request, view);
    if (request.length < 4) return EINVAL;
    if (operation === "K") this.#kill(view.getUint32(0, true));
    else if (request.length >= 9) {
      this.#isSlice = view.getUint8(0) !== 0;
      this.#waitMs = view.getFloat64(1, true);
    }
    return 0;
  }

  /** Returns the next event of a command, empty if there is none. */
  nextEvent(number: number): Uint8Array {
    return this.#commands.get(number)?.nextEvent() ?? new Uint8Array(0);
  }

  /** Returns the numbers of the commands that have new events. */
  takeNews(): Uint8Array {
    const numbers = new Uint32Array(this.#news);
    this.#news.clear();
    return new Uint8Array(numbers.buffer);
  }

  /** Lets commands run until there is news for Python, an interrupt, or its time to wait is over. */
  async wait(): Promise<void> {
    if (this.#news.size > 0 || this.#parts.interrupt[0] !== 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = clock.startTimer(resolve, this.#waitMs);
    this.#wake = resolve;
    if (this.#isSlice) await clock.waitUntilIdle(promise, resolve);
    else await clock.waitFor(promise, this.#parts.pause);
    this.#wake = undefined;
    clock.stopTimer(timer);
  }

  /** Lets commands end that were killed. Returns `undefined` if there are none, or if another command runs. */
  endKilled(): Promise<void> | undefined {
    const commands = [...this.#commands.values()];
    return commands.length > 0 && commands.every(({ isKilled }) => isKilled) ? this.endAll() : undefined;
  }

  /** Ends all commands. None of them changes anything afterwards. */
  async endAll(): Promise<void> {
    const commands = [...this.#commands.values()];
    for (const command of commands) command.kill();
    await clock.drain(Promise.all(commands.map(({ ended }) => ended)));
    this.#commands.clear();
    this.#news.clear();
    clock.clearTimers();
  }

  /** Leaves an interrupt to Python if that waits for commands, which end. */
  #takeInterrupt(): boolean {
    if (!this.#wake) return false;
    for (const command of this.#commands.values()) command.kill(INTERRUPTED_CODE);
    this.#wake();
    return true;
  }

  #start(request: Uint8Array, view: DataView): number {
    if (request.length < START_HEAD_BYTES) return EINVAL;
    const end = START_HEAD_BYTES + view.getUint32(8, true);
    const head = readRequest(view, decoder.decode(request.subarray(START_HEAD_BYTES, end)));
    if (!head || this.#commands.has(head.number)) return EINVAL;
    const live = this.#commands.size;
    if (live >= MAX_COMMANDS) return EAGAIN;
    const share = (bytes = 0) => Math.max(MIN_SHARE_BYTES, Math.floor(bytes / (live + 1)));
    const { fs, limits } = this.#parts;
    const command = new ShellCommand(head, {
      files: new ShellFiles(fs),
      stdin: latin1(request.subarray(end)),
      limits: {
        ...limits,
        maxStringLength: share(limits.maxStringLength),
        maxLiveBytes: share(limits.maxLiveBytes),
        maxOutputSize: share(limits.maxOutputSize),
      },
      onEvent: () => {
        this.#news.add(head.number);
        this.#wake?.();
      },
    });
    this.#commands.set(head.number, command);
    return 0;
  }

  #kill(number: number): void {
    const command = this.#commands.get(number);
    command?.kill();
    command?.ended.then(() => this.#commands.delete(number));
  }

  /** Ends a Python program of a command: numbers of both, exit code, size of stdout, stdout and stderr. */
  #reply(request: Uint8Array, view: DataView): number {
    if (request.length < 16) return EINVAL;
    const [number, program] = [view.getUint32(0, true), view.getUint32(4, true)];
    const end = 16 + view.getUint32(12, true);
    this.#commands.get(number)?.endProgram(program, {
      exitCode: view.getInt32(8, true),
      stdout: request.slice(16, end),
      stderr: request.slice(end),
    });
    return 0;
  }
}

/**
 * Reads a request: the number of the command, the number of its arguments and the size of the text in bytes, each in
 * four bytes, and the text, which has the script, the directory, the arguments and the variables between null
 * characters. A request of nested data could overflow the thread's stack.
 */
function readRequest(view: DataView, text: string): CommandRequest | undefined {
  const [script, cwd, ...words] = text.split("\0");
  const count = view.getUint32(4, true);
  if (script === undefined || cwd === undefined || count > words.length) return undefined;
  const variables = words.slice(count).map((word) => {
    const at = word.indexOf("=");
    return [word.slice(0, at), word.slice(at + 1)] as const;
  });
  const env = Object.fromEntries(variables.filter(([name]) => name !== ""));
  return { number: view.getUint32(0, true), script, args: words.slice(0, count), cwd, env };
}
