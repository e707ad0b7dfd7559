/** Whether a program is on this machine, and what the name of a test says when it is not. */
export interface Installed {
  readonly missing: boolean;
  readonly note: string;
}

/** `python3`, 3.9 or later. */
export const PYTHON: Installed = await installed(
  "python3",
  "-c",
  "import sys; sys.exit(sys.version_info < (3, 9))",
);

/** `curl`. */
export const CURL: Installed = await installed("curl", "--version");

async function installed(program: string, ...args: string[]): Promise<Installed> {
  try {
    const { success } = await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output();
    if (success) return { missing: false, note: "" };
  } catch {
    // it is not there
  }
  return { missing: true, note: ` (skipped, as there is no ${program})` };
}
