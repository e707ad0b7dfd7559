import type { Command, CommandContext, ExecResult } from "just-bash";
import { defineCommand } from "../engine.ts";
import type { ShellFiles } from "../files.ts";
import { latin1, latin1Bytes } from "../script/byte_text.ts";
import { byteText, type GnuCommand, type ProcessTable, unicodeText, UsageError } from "../gnu/command.ts";
import type { MergedStreams } from "../script/merged_streams.ts";
import { isStreaming, runOnInput } from "./coproc_input.ts";
import { withDescriptors } from "./substitutions.ts";

const decoder = new TextDecoder();

/** What a command of ours uses of the shell that runs it. */
export interface EngineCommandParts {
  readonly files: ShellFiles;
  readonly streams: Pick<MergedStreams, "isMerged">;
  readonly processes: ProcessTable;
}

/** Makes a command of the engine from our command, which is loaded when it first runs. */
export function toEngineCommand(
  name: string,
  load: () => Promise<GnuCommand>,
  { files, streams, processes }: EngineCommandParts,
): Command {
  const execute = async (
    args: readonly string[],
    context: CommandContext,
    stdin: () => string,
  ): Promise<ExecResult> => {
    const { cwd, exportedEnv = {}, signal, exec, fs } = context;
    const input = new CommandInput(stdin);
    const output = { stdout: "", stderr: "" };
    const { isMerged } = streams;
    const printError = (text: string) => {
      if (isMerged) output.stdout += byteText(text);
      else output.stderr += text;
    };
    const warn = (text: string) => printError(`${name}: ${text}\n`);
    const poll = () => signal?.throwIfAborted();
    const command = await load();
    const opened = await withDescriptors(files.forCommands, args, {
      fs,
      streams: {
        takeStdin: () => latin1Bytes(input.take()),
        print: (bytes) => output.stdout += latin1(bytes),
        printError: (bytes) => printError(decoder.decode(bytes)),
        descriptors: context.fileDescriptors,
      },
    });
    try {
      const exitCode = await command(args.map(byteText), {
        files: opened.files,
        cwd,
        variables: exportedEnv,
        get stdin() {
          return input.text;
        },
        leaveStdin: (length) => input.leave(length),
        print: (text) => {
          output.stdout += text;
        },
        warn,
        printError,
        poll,
        processes,
        run: async (words, { stdin = "", cwd: folder = cwd, variables, isCaptured = false } = {}) => {
          const [first = "", ...operands] = words.map(unicodeText);
          if (SHELL_ONLY.has(first)) {
            printError(`${name}: ‘${first}’: No such file or directory\n`);
            return { stdout: "", stderr: "", exitCode: 127, wasNotRun: true };
          }
          const rest = first === "printf" && operands[0] !== "--" ? ["--", ...operands] : operands; // no builtin
          const options = {
            cwd: folder,
            stdin,
            stdinKind: "bytes",
            args: rest,
            ...(variables && { env: { ...variables }, replaceEnv: true }),
            ...(signal && { signal }),
          } as const;
          const result = await exec?.(quoteWord(first), options);
          if (!result) throw new Error(`'${name}' cannot run commands here`);
          const stdout = result.stdoutKind === "bytes" ? result.stdout : byteText(result.stdout);
          if (!isCaptured) output.stdout += stdout;
          printError(result.stderr);
          const { stderr, exitCode } = result;
          const wasNotRun = (exitCode === 126 || exitCode === 127) && !await isProgram(first, context);
          return { stdout, stderr, exitCode, wasNotRun };
        },
      });
      await opened.flush();
      const internalStdinConsumed = STDIN_READERS.has(name) ? input.takenBytes : 0;
      return { ...output, stdoutKind: "bytes", exitCode, internalStdinConsumed } as ExecResult;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      warn(shownText(error.message));
      if (error.hasHint) printError(`Try '${name} --help' for more information.\n`);
      return { ...output, stdoutKind: "bytes", exitCode: error.exitCode };
    }
  };
  return defineCommand(name, async (args, context) => {
    const run = (stdin: () => string) => execute(args, context, stdin);
    if (!files.input?.isCurrent) return await run(() => String(context.stdin ?? ""));
    return await runOnInput(run, files.input, isStreaming(name, args));
  });
}

/** True if a name names a program in a folder of `PATH`, or is the path of a program that can be run. */
async function isProgram(name: string, { fs, cwd, env }: CommandContext): Promise<boolean> {
  if (name.includes("/")) {
    const status = await fs.stat(fs.resolvePath(cwd, name)).catch(() => undefined);
    return status !== undefined && !status.isDirectory && (status.mode & 0o111) !== 0;
  }
  for (const folder of (env.get("PATH") ?? "").split(":")) {
    if (await fs.exists(fs.resolvePath(cwd, `${folder}/${name}`))) return true;
  }
  return false;
}

/** Commands that are part of the shell alone, so that another command cannot run them. */
export const SHELL_ONLY: ReadonlySet<string> = new Set(
  (". : alias bg bind builtin caller cd command compgen complete compopt declare dirs disown enable eval exec exit " +
    "export fc fg getopts hash help history jobs let local logout mapfile popd pushd read readarray readonly return " +
    "set shift shopt source suspend times trap type typeset ulimit umask unalias unset wait").split(" "),
);

/** Commands that read their stdin only if they need it, so that what they took is known. */
const STDIN_READERS: ReadonlySet<string> = new Set(
  "awk cat column cut egrep fgrep fold gawk grep head paste sed sort tac tail tr uniq wc xargs".split(" "),
);

/** The stdin of a command, which knows how much of it the command has taken. */
class CommandInput {
  readonly #read: () => string;
  #text: string | undefined;
  #isTaken = false;
  #left = 0;

  constructor(read: () => string) {
    this.#read = read;
  }

  get text(): string {
    if (this.#isTaken) return "";
    this.#text ??= this.#read();
    return this.#text;
  }

  /** Takes the text, as the reading of a path such as `/dev/stdin` does: nothing is left, and nothing if it was read. */
  take(): string {
    const text = this.#text === undefined ? this.text : "";
    this.#isTaken = true;
    return text;
  }

  /** Number of bytes that the command took. */
  get takenBytes(): number {
    return (this.#text?.length ?? 0) - this.#left;
  }

  leave(length: number): void {
    if (this.#text !== undefined) this.#left = length;
  }
}

/** Converts byte text to text. A text that has other characters is text. */
function shownText(text: string): string {
  return [...text].some((sign) => sign > "\xff") ? text : unicodeText(text);
}

/** Quotes a word for the shell. */
function quoteWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
