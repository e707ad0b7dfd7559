/** File of the host, and the file's place in a sandbox. */
export interface HarborFile {
  /** Absolute path in the sandbox. */
  readonly path: string;
  readonly hostPath: string;
  readonly isExecutable: boolean;
}

/** A step that prepares a session: an instruction of a Dockerfile. */
export type ImageStep =
  | { readonly kind: "files"; readonly files: readonly HarborFile[] }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "variable"; readonly name: string; readonly value: string }
  /** A command line, and the folder that the command line starts in. */
  | { readonly kind: "run"; readonly command: string; readonly workdir: string };

/** State of a sandbox before an agent or a verifier begins, as a Dockerfile describes the state. */
export interface ImagePlan {
  readonly workdir: string;
  readonly steps: readonly ImageStep[];
  /** Python packages that commands install, as requirements by name. */
  readonly requirements: readonly string[];
}

/** How the work of an agent is scored. */
export interface VerifierPlan {
  /**
   * True if the verifier has an image of its own, and gets the artifacts only. Otherwise the verifier starts with the
   * agent's image and gets the files of the task that the agent has written.
   */
  readonly isSeparate: boolean;
  readonly image: ImagePlan;
  /** Files of `tests/`, which no session of an agent has. */
  readonly tests: readonly HarborFile[];
  readonly timeoutMs: number;
  readonly variables: Readonly<Record<string, string>>;
  /** Names of the reward files that a file of `tests/` writes. Another reward file does not count. */
  readonly rewardFiles: readonly RewardFileName[];
}

/** Name of a reward file in `/logs/verifier`. */
export type RewardFileName = "reward.json" | "reward.txt";

/** Paths of a task that a verifier gets from an agent. */
export interface CarriedPaths {
  /** Folders and files. All that is in a folder is carried. */
  readonly roots: readonly string[];
  /** Absolute paths in the instruction, which the agent was asked for. */
  readonly named: readonly string[];
  /** Last parts of the paths and words in the instruction that look like file names. */
  readonly namedFiles: readonly string[];
}

/** Solution of a task, which an oracle plays. */
export interface HarborSolution {
  readonly files: readonly HarborFile[];
  readonly variables: Readonly<Record<string, string>>;
}

/** A task in Harbor's format, read from the task's folder. */
export interface HarborTask {
  /** Name of the folder. */
  readonly id: string;
  readonly instruction: string;
  readonly image: ImagePlan;
  readonly verifier: VerifierPlan;
  readonly carried: CarriedPaths;
  /** Python packages of the image, the verifier and the solution. */
  readonly requirements: readonly string[];
  /** Maximum run time of all commands of an agent together. Absent if there is none. */
  readonly agentTimeoutMs?: number | undefined;
  /** Memory that the task asks for. Absent if the task names none. */
  readonly memoryBytes?: number | undefined;
  /** Absent if the folder has no `solution/solve.sh`. */
  readonly solution?: HarborSolution | undefined;
  /** Commands that the scripts of the task run, which the sandbox must have. */
  readonly commands: readonly string[];
  /** Reasons why the task does not run here, one phrase each. */
  readonly faults: readonly string[];
  /** What differs here without a fault, one phrase each. */
  readonly notes: readonly string[];
}

/** Home folder of agents and verifiers. */
export const HARBOR_HOME = "/root";

/** Folders that every session has, as Harbor mounts them. */
export const LOG_FOLDERS: readonly string[] = ["/logs/agent", "/logs/verifier", "/logs/artifacts"];

/** Folder of the verifier's files. */
export const TESTS_FOLDER = "/tests";

/**
 * Checks that a task runs here.
 *
 * @throws {RangeError} if the task has faults; the message has the first.
 */
export function requireRunnable({ id, faults }: HarborTask): void {
  const [fault] = faults;
  if (fault === undefined) return;
  const more = faults.length === 1 ? "" : ` (and ${faults.length - 1} more: see 'harbor check')`;
  throw new RangeError(`Cannot play Harbor task '${id}' as ${fault}${more}`);
}
