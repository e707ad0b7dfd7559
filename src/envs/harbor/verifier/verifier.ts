import { errorMessage, GuestFileError } from "../../../errors.ts";
import type { PythonSession, SessionPool } from "../../../sandbox/contract/pool.ts";
import type { ShellResult } from "../../../sandbox/contract/shell.ts";
import { quoteWord } from "../quote.ts";
import { type BundleEntry, FileBundleError, packFiles, unpackFiles } from "../session/file_bundle.ts";
import { prepareSession, readEntries } from "../session/prepare.ts";
import { HARBOR_HOME, type HarborTask, type RewardFileName, TESTS_FOLDER } from "../task.ts";
import { chooseCarried } from "./carried_files.ts";
import guardScript from "./guest/guard.sh" with { type: "text" };
import guardProgram from "./guest/paddock_guard.py" with { type: "text" };
import guardPlugin from "./guest/paddock_pytest_guard.py" with { type: "text" };
import { type HarborReward, readReward } from "./reward.ts";

/** Result of a verifier. */
export interface Verdict {
  readonly outcome: HarborReward;
  /** Output of the tests, cut to its end. */
  readonly output: string;
  /** Paths of the agent that the verifier did not get. */
  readonly leftOut: readonly string[];
}

/** Options of {@linkcode verify}. */
export interface VerifyOptions {
  /** Pool whose sessions no agent has had. */
  readonly pool: SessionPool;
  /** Files of the agent, or the reason why there are none. */
  readonly work: readonly BundleEntry[] | { readonly fault: string };
  signal?: AbortSignal | undefined;
}

const GUARD_FOLDER = `${HARBOR_HOME}/.paddock`;
const GUARD_FILES: readonly BundleEntry[] = Object.entries({
  "paddock_guard.py": guardProgram,
  "paddock_pytest_guard.py": guardPlugin,
}).map(([name, text]) => {
  const contents = new TextEncoder().encode(text);
  return { kind: "file", path: `${GUARD_FOLDER}/${name}`, contents, isExecutable: false };
});
/** Characters of the tests' output that a verdict has. */
const MAX_OUTPUT = 8_000;
const LOGS = "/logs/verifier";
const REWARD_FILES: readonly RewardFileName[] = ["reward.json", "reward.txt"];
const MAX_REWARD_BYTES = 64 * 1024;

/**
 * Scores the work of an agent in a session that the agent had no part in: the image is made again, the files of the task
 * that the agent wrote are put in place, then `tests/`, and `test.sh` runs.
 */
export async function verify(task: HarborTask, { pool, work, signal }: VerifyOptions): Promise<Verdict> {
  await using lease = await pool.acquire({ signal });
  const { session } = lease;
  const { image, isSeparate, tests, timeoutMs } = task.verifier;
  await prepareSession(session, image, { timeoutMs, signal });
  const isWork = !("fault" in work);
  const leftOut = isWork
    ? await carry(session, task, { agent: work, signal })
    : [`all files, as they cannot be read: ${work.fault}`];
  const removed = ["/solution", LOGS, ...(isSeparate ? [] : [TESTS_FOLDER])];
  const files = isSeparate ? [] : await readEntries(tests);
  const logs: BundleEntry = { kind: "folder", path: LOGS };
  await unpackFiles(session, { entries: [logs, ...GUARD_FILES, ...files], removed }, { signal });
  // the status of the tests does not count: Harbor reads the reward files only
  const result = await session.shell(testCommand(task), { timeoutMs, signal });
  const output = (result.stdout + result.stderr).slice(-MAX_OUTPUT);
  return { outcome: await outcomeOf(session, task, result), output, leftOut };
}

/** Puts the agent's files of the task into the session, and returns the paths that are left out. */
async function carry(
  session: PythonSession,
  { carried: paths, verifier }: HarborTask,
  { agent, signal }: { agent: readonly BundleEntry[]; signal: AbortSignal | undefined },
): Promise<readonly string[]> {
  const image = await packFiles(session, paths.roots, { signal });
  const { workdir } = verifier.image;
  const { entries, removed, leftOut } = chooseCarried({ agent, image, paths, workdir });
  try {
    await unpackFiles(session, { entries, removed }, { signal });
    return leftOut;
  } catch (error) {
    if (!(error instanceof FileBundleError)) throw error;
    return [`all files, as they cannot be written: ${errorMessage(error)}`];
  }
}

function testCommand({ verifier: { image, variables } }: HarborTask): string {
  return [
    `export PADDOCK_GUARD=${GUARD_FOLDER}`,
    guardScript,
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quoteWord(value)}`),
    `cd ${quoteWord(image.workdir)}`,
    `chmod +x ${TESTS_FOLDER}/test.sh`,
    `bash ${TESTS_FOLDER}/test.sh`,
    // at once: a job that the code under test has left runs until the call ends
    ...REWARD_FILES.map((name) =>
      `[ -f ${LOGS}/${name} ] && [ ! -L ${LOGS}/${name} ] && command cp ${LOGS}/${name} ${HARBOR_HOME}/${
        copyOf(name)
      }`
    ),
    "true",
  ].join("\n");
}

/**
 * Returns the reward after a run of the tests. Code under test that has ended the interpreter earns 0. A run that took too
 * long has no reward, as the host may have been busy.
 */
async function outcomeOf(
  session: PythonSession,
  task: HarborTask,
  { status }: ShellResult,
): Promise<HarborReward> {
  switch (status) {
    case "ok":
    case "exited":
      return await rewardOf(session, task);
    case "timeout":
      return { unscored: `the verifier has taken more than ${task.verifier.timeoutMs / 1000} s` };
    case "crashed":
    case "memory":
    case "output":
      return { reward: 0, parts: {} };
  }
}

async function rewardOf(
  session: PythonSession,
  { verifier: { rewardFiles } }: HarborTask,
): Promise<HarborReward> {
  const json = rewardFiles.includes("reward.json") ? await readCopy(session, "reward.json") : undefined;
  const text = rewardFiles.includes("reward.txt") ? await readCopy(session, "reward.txt") : undefined;
  return readReward({ json, text });
}

/** Returns the text of the copy of a reward file, or undefined if there is none. */
async function readCopy(session: PythonSession, name: RewardFileName): Promise<string | undefined> {
  try {
    const bytes = await session.readFile(copyOf(name));
    return new TextDecoder().decode(bytes.subarray(0, MAX_REWARD_BYTES));
  } catch (error) {
    if (error instanceof GuestFileError && error.code === "file_not_found") return undefined;
    throw error;
  }
}

/** Returns the path of a copy under the home. */
function copyOf(name: RewardFileName): string {
  return `.paddock/${name}`;
}
