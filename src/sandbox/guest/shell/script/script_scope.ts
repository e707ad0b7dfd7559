import type { CommandNode } from "../builtins/nodes.ts";
import type { BuiltinInterpreter, ShellState } from "../builtins/builtin.ts";
import type { ShellFiles } from "../files.ts";
import type { State } from "./process_state.ts";
import type { CommandOutput, ScriptInterpreter } from "../terminal.ts";
import { shortLived } from "./short_lived.ts";

/**
 * Lets `umask` in a subshell or substitution hold for that only. A substitution runs on after a failure with `set -e`,
 * as it does in bash without `inherit_errexit`.
 */
export function keepScope(interpreter: ScriptInterpreter, files: ShellFiles): void {
  const own = interpreter as BuiltinInterpreter & {
    executeScript: ScriptInterpreter["ctx"]["executeScript"];
  };
  const state = own.ctx.state as ShellState & { options: Record<string, boolean> };
  const command = own.executeCommand.bind(own);
  const script = own.executeScript.bind(own);
  let pid = state.bashPid;
  const keep = (run: () => Promise<CommandOutput>) => {
    const { umask } = files;
    const outer = pid;
    return run().finally(() => {
      files.umask = umask;
      pid = outer;
    });
  };
  const scoped: typeof command = shortLived((node, ...rest) => {
    const [stdin] = rest;
    if (typeof stdin === "string" && stdin !== "" && state.groupStdin === undefined && substitutes(node)) {
      state.groupStdin = stdin;
      return scoped(node, ...rest).finally(() => state.groupStdin = undefined);
    }
    if (node.type === "Subshell") return keep(() => command(node, ...rest));
    pid = state.bashPid; // the commands of a subshell
    return command(node, ...rest);
  });
  own.executeCommand = own.ctx.executeCommand = scoped;
  own.executeScript = own.ctx.executeScript = shortLived((...args) => {
    if (state.bashPid === pid) return script(...args);
    return keep(() => {
      pid = state.bashPid;
      const { options } = state;
      const keepsErrexit = state.otherOptions?.get("inherit_errexit") === true;
      state.options = { ...options, errexit: keepsErrexit && options.errexit === true };
      return script(...args).finally(() => state.options = options);
    });
  });
}

/** True if a word of a command has a substitution, which reads the command's stdin. */
function substitutes(node: object): boolean {
  const { type, args = [], words } = node as CommandNode;
  const isSubstitution = (
    part: { readonly type: string; readonly parts?: readonly { type: string }[] },
  ): boolean => part.type === "CommandSubstitution" || (part.parts ?? []).some(isSubstitution);
  const expanded = type === "SimpleCommand" ? args : type === "For" ? words ?? [] : [];
  return expanded.some(({ parts }) => parts.some(isSubstitution));
}

/** Exit code of a script in the arguments of a shell when a variable that must be set is not; a file's is 1. */
export const COMMAND_STRING_UNSET_CODE = 127;

/** Sets what ends when a variable that must be set is not: the script, or the script that runs it by `eval`. */
export function endAtUnset(interpreter: ScriptInterpreter, { bashPid: main }: State, code: number): void {
  const own = interpreter as BuiltinInterpreter & {
    executeScript: ScriptInterpreter["ctx"]["executeScript"];
    onUnset: () => number | undefined;
  };
  const state = own.ctx.state as ShellState;
  const nested: number[] = [];
  let isRunning = false;
  const script = own.executeScript.bind(own);
  own.executeScript = own.ctx.executeScript = shortLived((...args) => {
    if (isRunning) {
      nested.push(state.bashPid);
      return script(...args).finally(() => nested.pop());
    }
    isRunning = true;
    return script(...args);
  });
  own.onUnset = shortLived(() => {
    const [pid = main, outer = main] = nested.toReversed();
    if (nested.length > 0 && pid === outer) return undefined;
    return pid === main && !state.options.errexit ? code : 1;
  });
}
