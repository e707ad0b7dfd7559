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

/** A step of a session's preparation: files, or a command line of the session's shell. */
export type PreparationStep =
  | { readonly kind: "files"; readonly files: readonly HarborFile[] }
  | { readonly kind: "command"; readonly command: string };

/** Returns the steps that bring a session to the state of an image, in order. The shell keeps variables between them. */
export function preparationSteps({ steps, workdir }: ImagePlan): PreparationStep[] {
  const names = Object.keys(SYSTEM_PACKAGES).join(" ");
  const found: PreparationStep[] = [];
  let lines = [
    `export HOME=${HARBOR_HOME} DEBIAN_FRONTEND=noninteractive PADDOCK_SYSTEM_PACKAGES=${quoteWord(names)}`,
    installs,
    `mkdir -p ${LOG_FOLDERS.join(" ")} /tmp`,
  ];
  const flush = () => {
    if (lines.length > 0) found.push({ kind: "command", command: lines.join("\n") });
    lines = [];
  };
  for (const step of [...steps, { kind: "enter", path: workdir } as const]) {
    switch (step.kind) {
      case "variable":
        lines.push(`export ${step.name}=${quoteWord(step.value)}`);
        break;
      case "folder":
        lines.push(`mkdir -p ${quoteWord(step.path)}`);
        break;
      case "enter":
        lines.push(enter(step.path));
        break;
      case "run":
        flush();
        lines.push(`${enter(step.workdir)} && bash -c ${quoteWord(step.command)}`);
        flush(); // the status of the last line is that of the step
        break;
      case "files":
        flush();
        found.push(step);
    }
  }
  flush();
  return found;
}

function enter(folder: string): string {
  return `mkdir -p ${quoteWord(folder)} && cd ${quoteWord(folder)}`;
}

/**
 * Brings a session that nothing has run in to the state of an image.
 *
 * @throws {SandboxError} if a command of the image fails.
 */
export async function prepareSession(
  session: PythonSession,
  image: ImagePlan,
  { timeoutMs, signal }: PrepareOptions,
): Promise<void> {
  for (const step of preparationSteps(image)) {
    if (step.kind === "files") {
      await unpackFiles(session, { entries: await readEntries(step.files) }, { signal });
      continue;
    }
    const result = await session.shell(step.command, { timeoutMs, signal });
    if (result.status === "ok") continue;
    const why = (result.stderr || result.stdout).trim().slice(-500) || result.status;
    throw new SandboxError(
      `Cannot prepare the image as its command must succeed: ${step.command.slice(-200)}: ${why}`,
    );
  }
}

/** Reads files of the host as entries of a bundle. */
export async function readEntries(files: readonly HarborFile[]): Promise<BundleEntry[]> {
  const entries: BundleEntry[] = [];
  for (const { path, hostPath, isExecutable } of files) {
    entries.push({ kind: "file", path, contents: await Deno.readFile(hostPath), isExecutable });
  }
  return entries;
}
