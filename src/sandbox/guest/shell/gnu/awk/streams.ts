import { PathError } from "../../../errno.ts";
import { bytesOf, type CommandContext, errorText, pathOf, textOf } from "../command.ts";
import { RecordReader } from "./records.ts";
import { AwkFailure } from "./syntax.ts";
import { decodeBytes, decodeText, encodeText } from "./values.ts";

/** A file or a command that the program writes to. */
interface Output {
  readonly kind: "file" | "command" | "stdout" | "stderr";
  readonly name: string;
  text: string;
}

/** A command that a program writes to and reads from, with `|&`. */
interface Coprocess {
  /** What the program has written. */
  text: string;
  /** The output of the command, which runs when the program first reads. */
  reader?: RecordReader;
  exitCode: number;
}

/** Settings of {@linkcode Streams}. */
export interface StreamSettings {
  /** True if each byte is a character. */
  readonly hasBytes?: boolean;
  /** True if the program does not read stdin itself, so that its commands do. */
  readonly leavesStdin?: boolean;
}

const SIGNALLED = 128;

/** A command that leaves its stdin to the next one. */
const IGNORES_STDIN =
  /^\s*(?::|basename|clear|cp|date|dirname|echo|exit|false|ls|mkdir|mv|printf|pwd|rm|sleep|test|touch|true)\b[^|;&<]*$/;

/** Files and commands that a program has opened by their names. */
export class Streams {
  readonly #context: CommandContext;
  readonly #settings: StreamSettings;
  readonly #decode: (text: string) => string;
  readonly #coprocesses = new Map<string, Coprocess>();
  readonly #outputs = new Map<string, Output>();
  readonly #inputs = new Map<string, { readonly reader: RecordReader; readonly exitCode: number }>();
  #stdin: RecordReader | undefined;
  /** True if a command of the program has had the stdin. */
  #isStdinTaken = false;
  #held = "";
  #kept: string | undefined;

  constructor(context: CommandContext, settings: StreamSettings) {
    this.#context = context;
    this.#settings = settings;
    this.#decode = settings.hasBytes ? decodeBytes : decodeText;
  }

  /** The records of stdin. */
  get stdin(): RecordReader {
    return this.#stdin ??= new RecordReader(this.#decode(this.#context.stdin));
  }

  /** Prints to stdout. What is not flushed comes behind the output of commands, as with gawk's stdout in a pipe. */
  print(text: string): void {
    if (this.#kept !== undefined) {
      this.#kept += text;
      return;
    }
    this.#held += text;
    if (this.#held.length > HELD_CHARACTERS) this.#flushStdout();
  }

  /** Keeps what is printed from now on, for a file that is changed in place. */
  keepOutput(): void {
    this.#kept = "";
  }

  /** Returns what was kept, and prints again. */
  takeOutput(): string | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    return kept === undefined ? undefined : encodeText(kept);
  }

  #flushStdout(): void {
    this.#context.print(encodeText(this.#held));
    this.#held = "";
  }

  /**
   * Writes to a file or a command. A command runs when it is closed, or at the end.
   *
   * @throws {PathError} if the file cannot be written.
   */
  write(kind: ">" | ">>" | "|" | "|&", name: string, text: string): void {
    if (kind === "|&") return this.#writeCoprocess(name, text);
    const key = `${kind === "|" ? "|" : ">"}${name}`;
    const output = this.#outputs.get(key) ?? this.#open(kind, name);
    this.#outputs.set(key, output);
    if (output.kind === "stdout") this.print(text);
    else if (output.kind === "stderr") this.#context.printError(text);
    else output.text += text;
    if (output.kind === "file" && output.text.length > FLUSH_CHARACTERS) this.#flush(output);
  }

  #open(kind: ">" | ">>" | "|", name: string): Output {
    if (kind === "|") {
      this.flush();
      return { kind: "command", name, text: "" };
    }
    if (name === "/dev/stdout" || name === "-" || name === "/dev/fd/1") {
      return { kind: "stdout", name, text: "" };
    }
    if (name === "/dev/stderr" || name === "/dev/fd/2") return { kind: "stderr", name, text: "" };
    const path = pathOf(this.#context.cwd, encodeText(name));
    const isAppended = kind === ">>" && this.#read(path) !== undefined;
    if (!isAppended) this.#context.files.write(path, new Uint8Array(0));
    return { kind: "file", name, text: "" };
  }

  #flush(output: Output): void {
    if (output.text === "") return;
    const path = pathOf(this.#context.cwd, encodeText(output.name));
    const before = this.#read(path) ?? new Uint8Array(0);
    const added = bytesOf(encodeText(output.text));
    const bytes = new Uint8Array(before.length + added.length);
    bytes.set(before);
    bytes.set(added, before.length);
    this.#context.files.write(path, bytes);
    output.text = "";
  }

  #read(path: string): Uint8Array | undefined {
    try {
      return this.#context.files.read(path);
    } catch (error) {
      if (error instanceof PathError && error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Returns the reader of a file; the text of the error if the file cannot be read. */
  file(name: string): RecordReader | string {
    if (name === "-" || name === "/dev/stdin") return this.stdin;
    const known = this.#inputs.get(`<${name}`);
    if (known) return known.reader;
    try {
      const bytes = this.#context.files.read(pathOf(this.#context.cwd, encodeText(name)));
      const reader = new RecordReader(this.#decode(textOf(bytes)));
      this.#inputs.set(`<${name}`, { reader, exitCode: 0 });
      return reader;
    } catch (error) {
      return errorText(error);
    }
  }

  /** Returns the reader of the output of a command, which runs at the first call. */
  async command(command: string): Promise<RecordReader> {
    const known = this.#inputs.get(`|${command}`);
    if (known) return known.reader;
    this.flush();
    const { stdout, exitCode } = await this.#run(command, { isCaptured: true });
    const reader = new RecordReader(this.#decode(stdout));
    this.#inputs.set(`|${command}`, { reader, exitCode });
    return reader;
  }

  #writeCoprocess(name: string, text: string): void {
    const process = this.#coprocesses.get(name) ?? { text: "", exitCode: 0 };
    this.#coprocesses.set(name, process);
    if (process.reader) {
      throw new AwkFailure(`|& of what a command reads after it wrote is not available: \`${name}'`);
    }
    process.text += text;
  }

  /** Returns the reader of a coprocess, which gets all that the program has written until it first reads. */
  async coprocess(name: string): Promise<RecordReader> {
    const process = this.#coprocesses.get(name) ?? { text: "", exitCode: 0 };
    this.#coprocesses.set(name, process);
    if (process.reader) return process.reader;
    this.flush();
    const { stdout, exitCode } = await this.#run(name, { isCaptured: true, stdin: encodeText(process.text) });
    process.exitCode = exitCode;
    return process.reader = new RecordReader(this.#decode(stdout));
  }

  async #closeCoprocess(name: string, end: string | undefined): Promise<number> {
    if (end === "to") return 0; // the command gets no more when it runs
    await this.coprocess(name);
    const exitCode = this.#coprocesses.get(name)?.exitCode ?? 0;
    this.#coprocesses.delete(name);
    return exitCode;
  }

  /** Runs a command for `system()`. Returns its exit code, or 256 and the signal that ended it. */
  async system(command: string): Promise<number> {
    this.flush();
    const { exitCode } = await this.#run(command, {});
    return exitCode > SIGNALLED ? 256 + exitCode - SIGNALLED : exitCode;
  }

  async #run(command: string, options: { isCaptured?: boolean; stdin?: string }) {
    const { leavesStdin = false } = this.#settings;
    const isLeft = leavesStdin && !this.#stdin && !this.#isStdinTaken;
    const stdin = options.stdin ?? (isLeft ? this.#context.stdin : "");
    if (options.stdin === undefined && !IGNORES_STDIN.test(command)) this.#isStdinTaken = true;
    return await this.#context.run(["sh", "-c", encodeText(command)], { ...options, stdin });
  }

  /** Writes what is held back. */
  flush(): void {
    this.#flushStdout();
    for (const output of this.#outputs.values()) if (output.kind === "file") this.#flush(output);
  }

  /** Closes a file or command. Returns its exit code; -1 if none is open by that name. */
  async close(name: string, end?: string): Promise<number> {
    if (this.#coprocesses.has(name)) return await this.#closeCoprocess(name, end);
    let exitCode = -1;
    for (const key of [`<${name}`, `|${name}`]) {
      const input = this.#inputs.get(key);
      if (!input) continue;
      this.#inputs.delete(key);
      exitCode = input.exitCode;
    }
    for (const key of [`>${name}`, `|${name}`]) {
      const output = this.#outputs.get(key);
      if (!output) continue;
      this.#outputs.delete(key);
      exitCode = await this.#close(output);
    }
    return exitCode;
  }

  async #close(output: Output): Promise<number> {
    if (output.kind === "file") this.#flush(output);
    if (output.kind !== "command") return 0;
    const { exitCode } = await this.#run(output.name, { stdin: encodeText(output.text) });
    return exitCode;
  }

  /** Closes all files and commands, in the order in which they were opened. */
  async closeAll(): Promise<void> {
    for (const name of [...this.#coprocesses.keys()]) await this.#closeCoprocess(name, undefined);
    for (const output of this.#outputs.values()) await this.#close(output);
    this.#outputs.clear();
    this.#flushStdout();
  }
}

const HELD_CHARACTERS = 4096;

const FLUSH_CHARACTERS = 1 << 20;
