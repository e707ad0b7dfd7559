/** Whether this machine has `python3`, and what the name of a test says when it has not. */
export const PYTHON: { readonly missing: boolean; readonly note: string } = await hasPython()
  ? { missing: false, note: "" }
  : { missing: true, note: " (skipped, as there is no python3)" };

async function hasPython(): Promise<boolean> {
  try {
    const { success } = await new Deno.Command("python3", {
      args: ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"],
      stderr: "null",
    }).output();
    return success;
  } catch {
    return false; // it is not there
  }
}
