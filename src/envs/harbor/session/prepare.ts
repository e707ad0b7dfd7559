import { SandboxError } from "../../../errors.ts";
import type { PythonSession } from "../../../sandbox/contract/pool.ts";
import { quoteWord } from "../quote.ts";
import { SYSTEM_PACKAGES } from "../config/system_packages.ts";
import { HARBOR_HOME, type HarborFile, type ImagePlan, LOG_FOLDERS } from "../task.ts";
import { type BundleEntry, unpackFiles } from "./file_bundle.ts";
import installs from "./installs.sh" with { type: "text" };

/** Options of {@linkcode prepareSession}. */
export interface PrepareOptions {
  /** Time limit of a command of the image, in milliseconds. */
  readonly timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Brings a session that nothing has run in to the state of an image.
 *
 * @throws {SandboxError} if a command of the image fails.
 */
export async function prepareSession(
  session: PythonSession,
  { steps, workdir }: ImagePlan,
  { timeoutMs, signal }: PrepareOptions,
): Promise<void> {
  const run = async (command: string) => {
    const result = await session.shell(command, { timeoutMs, signal });
    if (result.status === "ok") return;
    const why = (result.stderr || result.stdout).trim().slice(-500) || result.status;
    throw new SandboxError(
      `Cannot prepare the image as its command must succeed: ${command.slice(0, 200)}: ${why}`,
    );
  };
  const names = Object.keys(SYSTEM_PACKAGES).join(" ");
  await run(
    `export HOME=${HARBOR_HOME} DEBIAN_FRONTEND=noninteractive PADDOCK_SYSTEM_PACKAGES=${
      quoteWord(names)
    }\n` +
      `${installs}\nmkdir -p ${LOG_FOLDERS.join(" ")} /tmp`,
  );
  let lines: string[] = [];
  for (const step of steps) {
    if (step.kind === "variable") lines.push(`export ${step.name}=${quoteWord(step.value)}`);
    else if (step.kind === "folder") lines.push(`mkdir -p ${quoteWord(step.path)}`);
    else if (step.kind === "run") {
      lines.push(`mkdir -p ${quoteWord(step.workdir)} && cd ${quoteWord(step.workdir)}`);
      await run([...lines, `bash -c ${quoteWord(step.command)}`].join("\n"));
      lines = [];
    } else await unpackFiles(session, { entries: await readEntries(step.files) }, { signal });
  }
  await run([...lines, `mkdir -p ${quoteWord(workdir)} && cd ${quoteWord(workdir)}`].join("\n"));
}

/** Reads files of the host as entries of a bundle. */
export async function readEntries(files: readonly HarborFile[]): Promise<BundleEntry[]> {
  const entries: BundleEntry[] = [];
  for (const { path, hostPath, isExecutable } of files) {
    entries.push({ kind: "file", path, contents: await Deno.readFile(hostPath), isExecutable });
  }
  return entries;
}
