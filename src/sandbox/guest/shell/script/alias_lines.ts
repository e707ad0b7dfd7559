import type { Builtin, BuiltinCall, BuiltinInterpreter, ShellState } from "../builtins/builtin.ts";
import type { StatementNode } from "../builtins/nodes.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";
import { expandAliases } from "./alias_text.ts";
import { joinOutputs } from "./script_end.ts";
import { shortLived } from "./short_lived.ts";

/** Name of the builtin that runs a script line by line. */
export const LINES = "__paddock_lines";

const ALIAS = "BASH_ALIAS_";

/** A script as the engine's parser reads it, and why it is not one. */
interface ParsedScript {
  readonly script?: { readonly type: string; readonly statements: readonly StatementNode[] };
  readonly error?: Error;
  /** True if more lines may make the text a script. */
  readonly isIncomplete: boolean;
}

interface ParsingContext {
  readonly fs: { readFile(path: string): Promise<string> };
  readonly parse: (text: string) => ParsedScript;
  readonly executeScript: (script: object) => Promise<CommandOutput>;
  sourceText?: ((path: string) => string | undefined | Promise<string | undefined>) | undefined;
}

/** Returns a script that runs another line by line if that one may use aliases. */
export function withAliasLines(script: string, state: Pick<ShellState, "env" | "shoptOptions">): string {
  if (!/\bexpand_aliases\b/.test(script) && !usesAliases(script, state)) return script;
  return `${LINES} '${script.replaceAll("'", "'\\''")}'`;
}

function usesAliases(script: string, { env, shoptOptions }: Pick<ShellState, "env" | "shoptOptions">) {
  return shoptOptions.expand_aliases === true &&
    (/\balias\b/.test(script) || [...env.keys()].some((name) => name.startsWith(ALIAS)));
}

/** Lets `source` run a file line by line if the file may use aliases. */
export function sourceAliasLines(interpreter: ScriptInterpreter): void {
  const { ctx } = interpreter as BuiltinInterpreter;
  const context = ctx as unknown as ParsingContext;
  const state = ctx.state as unknown as ShellState;
  context.sourceText ??= shortLived(async (path) => {
    return state.shoptOptions.expand_aliases
      ? withAliasLines(await context.fs.readFile(path), state)
      : undefined;
  });
}

/** `eval` of commands that may use aliases. */
export const evalLines: Builtin = async (call) => {
  const words = call.args[0] === "--" ? call.args.slice(1) : call.args;
  const text = words.join(" ");
  return usesAliases(text, call.state) ? await runLines({ ...call, args: [text] }) : undefined;
};

/**
 * Runs a script line by line, each with the aliases that the lines before have defined. A line is as many lines as a
 * command has.
 */
export const runLines: Builtin = async (call) => {
  const lines = (call.args[0] ?? "").match(/[^\n]*\n|[^\n]+$/g) ?? [];
  let output: CommandOutput = { stdout: "", stderr: "", exitCode: 0 };
  for (let at = 0; at < lines.length;) {
    const { count, statements, isLast } = nextCommands(lines, at, call);
    at += count;
    if (statements.length === 0) continue;
    const { executeScript } = call.interpreter.ctx as unknown as ParsingContext;
    const { exitCode, ...next } = await executeScript({ type: "Script", statements });
    output = { ...joinOutputs({ ...output, exitCode: 0 }, { ...next, exitCode: 0 }), exitCode };
    const { options, errexitSafe, inCondition } = call.state;
    if (isLast || (options.errexit && exitCode !== 0 && !errexitSafe && !inCondition)) break;
  }
  return output;
};

/** Returns the commands that begin in a line, and the number of their lines. */
function nextCommands(lines: readonly string[], first: number, { state, interpreter }: BuiltinCall) {
  const { parse } = interpreter.ctx as unknown as ParsingContext;
  const aliases = aliasesOf(state);
  let text = "";
  for (let count = 1;; count++) {
    text += lines[first + count - 1] ?? "";
    const expanded = state.shoptOptions.expand_aliases
      ? expandAliases(text, aliases)
      : expandAliases(text, new Map());
    const parsed = parse("\n".repeat(first) + expanded.text);
    const hasMore = first + count < lines.length;
    if (hasMore && /(?<!\\)(?:\\\\)*\\\n$/.test(text)) continue;
    if (hasMore && (expanded.isOpen || parsed.isIncomplete)) continue;
    const { script, error } = parsed;
    const failed = error && { ...EMPTY, parseError: Object.assign(error, { script: lines.join("") }) };
    return { count, statements: script?.statements ?? (failed ? [failed] : []), isLast: error !== undefined };
  }
}

const EMPTY: StatementNode = { type: "Statement", pipelines: [], operators: [], background: false };

function aliasesOf({ env }: ShellState): ReadonlyMap<string, string> {
  return new Map(
    [...env].filter(([name]) => name.startsWith(ALIAS)).map((
      [name, value],
    ) => [name.slice(ALIAS.length), value]),
  );
}
