// The part of exec_fields.ts that a session uses, so that a check takes no time for the schemas of other parts.
import type { CheckedProfile } from "../exec/exec_check.ts";
import type { ExecOptions } from "./exec.ts";
import type { ShellOptions } from "./shell.ts";

export function checkExec(code: unknown, options: ExecOptions, profile: CheckedProfile): void;
export function checkShell(
  command: unknown,
  options: ShellOptions,
  profile: CheckedProfile & { readonly shell: boolean },
): void;
