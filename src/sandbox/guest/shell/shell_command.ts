import { join } from "../../protocol.ts";
import { thrownText } from "../errno.ts";
import { clock, createInterruptibleLimits, type ShellLimits, ShellSignal, STOP_LIMITS } from "./clock.ts";
import type { ShellFiles } from "./files.ts";
import { latin1, latin1Bytes } from "./script/byte_text.ts";
import type { AbortNotice, ProgramRequest, ProgramResult } from "./programs.ts";
import { ScriptEngine } from "./script_engine.ts";
import { type PrintedText, ShellTerminal } from "./terminal.ts";

/** A command waits before its next step while Python has not taken so much of its output. */
const MAX_PENDING_BYTES = 262_144;

const encoder = new TextEncoder();

/** A command that Python starts. All of its text comes from the guest. */
export interface CommandRequest {
  /** Number that Python gives the command. */
  readonly number: number;
  readonly script: string;
  /** Arguments of the script's first command, which are not parsed. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The parts of a {@linkcode ShellCommand}. */
export interface ShellCommandParts {
  readonly files: ShellFiles;
  /** Text in which each character is a byte. */
  readonly stdin: string;
  readonly limits: ShellLimits;
  readonly onEvent: () => void;
}

/** A command with its output that Python has not taken. */
export class ShellCommand {
  /** Resolves when no code of the command continues. */
  readonly ended: Promise<void>;
  isKilled = false;
  readonly #parts: ShellCommandParts;
  readonly #signal = new ShellSignal();
  readonly #terminal: ShellTerminal;
  readonly #events: Uint8Array[] = [];
  readonly #programs = new Map<
    number,
    { end: (result: ProgramResult) => void; fail: (error: Error) => void }
  >();
  #limits: ShellLimits | undefined;
  #pendingBytes = 0;
  #lastProgram = 0;
  #hasRoom: PromiseWithResolvers<void> | undefined;

  constructor(request: CommandRequest, parts: ShellCommandParts) {
    this.#parts = parts;
    this.#terminal = new ShellTerminal({
      print: (stream, text) => this.#print(stream, text),
      toText: toByteText,
    });
    this.ended = Promise.resolve().then(() => this.#run(request));
  }

  /** Returns the next event: a letter and its contents. Empty if there is none. */
  nextEvent(): Uint8Array {
    const event = this.#events.shift();
    if (!event) return new Uint8Array(0);
    this.#pendingBytes -= event.length;
    if (this.#pendingBytes <= MAX_PENDING_BYTES) this.#hasRoom?.resolve();
    return event;
  }

  /** Gives a Python program's result to the command. */
  endProgram(program: number, result: ProgramResult): void {
    this.#programs.get(program)?.end(result);
  }

  /** Ends the command, which has no further effect. Its exit code is for Python, if that waits for it. */
  kill(exitCode?: number): void {
    if (this.isKilled) return;
    if (exitCode !== undefined) this.#end(exitCode);
    this.isKilled = true;
    this.#parts.files.close();
    if (this.#limits) Object.assign(this.#limits, STOP_LIMITS);
    this.#events.splice(0, exitCode === undefined ? Infinity : this.#events.length - 1);
    const error = new Error("the command was ended");
    this.#signal.abort(error);
    for (const { fail } of this.#programs.values()) fail(error);
    this.#hasRoom?.resolve();
  }

  async #run({ script, args, cwd, env }: CommandRequest): Promise<void> {
    if (this.isKilled) return;
    const { files, limits, stdin } = this.#parts;
    try {
      const engine = new ScriptEngine({
        files,
        cwd,
        env,
        limits,
        isProgram: true,
        terminal: this.#terminal,
        runPython: (request, signal) => this.#runPython(request, signal),
        beforeCommand: () => this.#waitForRoom(),
      });
      this.#limits = Object.assign(engine.limits, createInterruptibleLimits(() => this.isKilled));
      const options = { stdin, stdinKind: "bytes", args, signal: this.#signal } as const;
      const result = await engine.run(script, options);
      this.#terminal.flush();
      const { stdout, stderr } = toByteText(result);
      this.#print("stdout", stdout);
      this.#print("stderr", stderr);
      this.#end(result.exitCode);
    } catch (error) {
      this.#print("stderr", toByteText({ stdout: "", stderr: `bash: ${thrownText(error)}\n` }).stderr);
      this.#end(1);
    }
  }

  #end(exitCode: number): void {
    this.#addEvent("X", new Uint8Array([exitCode & 0xff]));
  }

  #print(stream: "stdout" | "stderr", text: string): void {
    if (text !== "") this.#addEvent(stream === "stdout" ? "O" : "E", latin1Bytes(text));
  }

  async #runPython(request: ProgramRequest, signal?: AbortNotice): Promise<ProgramResult> {
    this.#terminal.flush();
    const program = ++this.#lastProgram;
    const { promise, resolve: end, reject: fail } = Promise.withResolvers<ProgramResult>();
    if (this.isKilled) throw new Error("the command was ended");
    this.#programs.set(program, { end, fail });
    signal?.addEventListener("abort", () => {
      if (this.#programs.has(program)) this.#addEvent("Q", new Uint8Array(0));
      fail(new Error("the program was ended"));
    });
    const route = this.#terminal.route?.stderr;
    this.#addEvent("P", encoder.encode(JSON.stringify({ program, route, ...request })));
    try {
      return await promise;
    } finally {
      this.#programs.delete(program);
    }
  }

  #addEvent(letter: string, contents: Uint8Array): void {
    if (this.isKilled) return;
    const event = join([encoder.encode(letter), contents]);
    this.#events.push(event);
    this.#pendingBytes += event.length;
    this.#parts.onEvent();
  }

  #waitForRoom(): Promise<void> | undefined {
    clock.poll();
    if (this.#pendingBytes <= MAX_PENDING_BYTES || this.isKilled) return undefined;
    this.#hasRoom = Promise.withResolvers<void>();
    return this.#hasRoom.promise;
  }
}

/** Converts output to text in which each character is a byte. */
function toByteText(printed: PrintedText): { stdout: string; stderr: string } {
  const { stdout, stderr, stdoutKind, stdoutEncoding } = printed;
  const isBytes = stdoutKind === "bytes" || (stdoutKind === undefined && stdoutEncoding === "binary");
  return { stdout: isBytes ? stdout : encodeText(stdout), stderr: encodeText(stderr) };
}

function encodeText(text: string): string {
  return latin1(encoder.encode(text));
}
