import { PathError } from "../../../errno.ts";
import { bytesOf, type CommandContext, errorText, pathOf, textOf } from "../command.ts";
import { RecordReader } from "./records.ts";
import { decodeText, encodeText } from "./values.ts";

/** A file or a command that the program writes to. */
interface Output {
  readonly kind: "file" | "command" | "stdout" | "stderr";
  readonly name: string;
  text: string;
}

const SIGNALLED = 128;

/** Files and commands that a program has opened by their names. */
export class Streams {
  readonly #context: CommandContext;
  readonly #outputs = new Map<string, Output>();
  readonly #inputs = new Map<string, { readonly reader: RecordReader; readonly exitCode: number }>();
  #stdin: RecordReader | undefined;
  #held = "";

  constructor(context: CommandContext) {
    this.#context = context;
  }

  /** The records of stdin. */
  get stdin(): RecordReader {
    return this.#stdin ??= new RecordReader(decodeText(this.#context.stdin));
  }

  /** Prints to stdout. What is not flushed comes behind the output of commands, as with gawk's stdout in a pipe. */
  print(text: string): void {
    this.#held += text;
    if (this.#held.length > HELD_CHARACTERS) this.#flushStdout();
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
  write(kind: ">" | ">>" | "|", name: string, text: string): void {
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
      const reader = new RecordReader(decodeText(textOf(bytes)));
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
    const reader = new RecordReader(decodeText(stdout));
    this.#inputs.set(`|${command}`, { reader, exitCode });
    return reader;
  }

  /** Runs a command for `system()`. Returns its exit code, or 256 and the signal that ended it. */
  async system(command: string): Promise<number> {
    this.flush();
    const { exitCode } = await this.#run(command, {});
    return exitCode > SIGNALLED ? 256 + exitCode - SIGNALLED : exitCode;
  }

  async #run(command: string, options: { isCaptured?: boolean; stdin?: string }) {
    return await this.#context.run(["sh", "-c", encodeText(command)], options);
  }

  /** Writes what is held back. */
  flush(): void {
    this.#flushStdout();
    for (const output of this.#outputs.values()) if (output.kind === "file") this.#flush(output);
  }

  /** Closes a file or command. Returns its exit code; -1 if none is open by that name. */
  async close(name: string): Promise<number> {
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
    for (const output of this.#outputs.values()) await this.#close(output);
    this.#outputs.clear();
    this.#flushStdout();
  }
}

const HELD_CHARACTERS = 4096;

const FLUSH_CHARACTERS = 1 << 20;
