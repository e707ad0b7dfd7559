import * as z from "zod";
import type { PythonSession } from "../../sandbox/contract/pool.ts";
import { type HostTool, hostTool } from "../../sandbox/host_tool.ts";

/** Name of the host tool that `input()` calls. */
const INPUT_TOOL = "paddock_input";

/** Keeps the last value as `_`, as an interactive interpreter does. */
const SET_UP = `
def _set_up():
    import builtins, sys

    def displayhook(value):
        if value is not None:
            builtins._ = value

    sys.displayhook = displayhook
    print(sys.version.split()[0])
_set_up()
del _set_up
`;

/** Makes `input()` ask the user of the terminal. */
const SET_UP_INPUT = `
def _set_up():
    import builtins
    from paddock import tools

    def input(prompt="", /):
        """Read a line from the terminal."""
        line = tools.${INPUT_TOOL}(prompt=str(prompt))
        if line is None:
            raise EOFError("EOF when reading a line")
        return line

    builtins.input = input
_set_up()
del _set_up
`;

/**
 * Prepares a session for a person: `_` is the last value, and `input()` reads from the terminal if `hasInput` is true.
 *
 * @returns the version of Python.
 */
export async function setUpInterpreter(
  session: PythonSession,
  { hasInput, signal }: { hasInput: boolean; signal: AbortSignal },
): Promise<string> {
  const { stdout } = await session.exec(SET_UP, { signal });
  if (hasInput) await session.exec(SET_UP_INPUT, { signal });
  return stdout.trim();
}

/** Maximum characters of a prompt of `input()`. */
const MAX_PROMPT = 10_000;

/** Returns the tool behind `input()`. `ask` returns the line of the user, or `undefined` at the end of the input. */
export function inputTool(
  ask: (prompt: string, signal: AbortSignal) => Promise<string | undefined>,
): HostTool {
  return hostTool({
    name: INPUT_TOOL,
    description: "Reads a line from the terminal",
    parameters: z.object({ prompt: z.string() }),
    run: async ({ prompt }, { signal }) => await ask(prompt.slice(0, MAX_PROMPT), signal) ?? null,
  });
}

const MAX_COMPLETIONS = 200;
/** Time for the completion of a word, which may call code of the user's classes. */
const COMPLETION_MS = 500;
const INDENT = "    ";

/**
 * Returns the completions of the last word of a line and that word. At the start of a line, Tab indents.
 */
export async function completeLine(
  session: PythonSession,
  line: string,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<[completions: string[], word: string]> {
  if (line.trim() === "") return [[INDENT], ""];
  const [, word = ""] = /(?:^|[^\w.)\]}"'])([A-Za-z_][\w.]*)$/.exec(line) ?? [];
  if (word === "") return [[], ""];
  const code =
    `print(__import__("json").dumps((lambda c, t: (c.attr_matches(t) if "." in t else c.global_matches(t)))(
    __import__("rlcompleter").Completer(__import__("__main__").__dict__), ${
      JSON.stringify(word)
    })[:${MAX_COMPLETIONS}]))`;
  const result = await session.exec(code, { timeoutMs: COMPLETION_MS, signal: options.signal });
  return [result.status === "ok" ? parseCompletions(result.stdout, word) : [], word];
}

/** Reads the completions that the guest prints. Those that are not of this word could write anything on the terminal. */
function parseCompletions(text: string, word: string): string[] {
  try {
    const words: unknown = JSON.parse(text.trim().split("\n").at(-1) ?? "");
    if (!Array.isArray(words)) return [];
    const names = words.filter((name): name is string => typeof name === "string" && name.startsWith(word));
    return [...new Set(names.filter((name) => /^[\w.]{1,200}[( :]?\)?$/.test(name)))].sort();
  } catch {
    return []; // a program has replaced the modules that complete
  }
}
