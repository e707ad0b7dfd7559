/** State of a program on this machine, with a note for test names if it is missing. */
export interface Installed {
  readonly missing: boolean;
  readonly note: string;
}

/** `python3`, 3.9 or later. */
export const PYTHON: Installed = await findProgram(
  "python3",
  "-c",
  "import sys; sys.exit(sys.version_info < (3, 9))",
);

/** `curl`. */
export const CURL: Installed = await findProgram("curl", "--version");

async function findProgram(program: string, ...args: string[]): Promise<Installed> {
  try {
    const { success } = await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output();
    if (success) return { missing: false, note: "" };
  } catch {
    // the program does not exist
  }
  return { missing: true, note: ` (skipped: no ${program})` };
}
