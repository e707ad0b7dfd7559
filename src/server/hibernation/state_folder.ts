import { join } from "node:path";
import { errorMessage, SandboxError } from "../../errors.ts";

/** The error of a folder that a server cannot use as its state directory. */
export class StateDirectoryError extends SandboxError {
  /** `in_use` if another server uses the folder; `unusable` if the folder must be changed. */
  readonly code: "in_use" | "unusable";

  constructor(message: string, { code, ...options }: ErrorOptions & Pick<StateDirectoryError, "code">) {
    super(message, options);
    this.code = code;
  }
}

/** Name of the file by which one server at a time uses a folder. */
export const LOCK = "lock";
/** Permission bits of the group and of others. */
const SHARED_BITS = 0o077;

/**
 * Makes the folder if it does not exist, and locks it for this server.
 *
 * @throws {StateDirectoryError} if it is no folder that only this user can use, or another server uses it.
 */
export async function lockFolder(path: string): Promise<Deno.FsFile> {
  const lock = await openLock(path);
  if (await lock.tryLock(true)) return lock;
  lock.close();
  const message = `Cannot use state directory '${path}' as another server uses it`;
  throw new StateDirectoryError(message, { code: "in_use" });
}

async function openLock(path: string): Promise<Deno.FsFile> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    await requirePrivate(path);
    return await Deno.open(join(path, LOCK), { create: true, write: true, mode: 0o600 });
  } catch (cause) {
    if (cause instanceof SandboxError) throw cause;
    const message = `Cannot use state directory '${path}': ${errorMessage(cause)}`;
    throw new StateDirectoryError(message, { code: "unusable", cause });
  }
}

/** Closes an empty folder to other users, and refuses a folder with files that other users can use. */
async function requirePrivate(path: string): Promise<void> {
  const { mode, uid } = await Deno.stat(path);
  const user = Deno.uid();
  if (uid !== user) {
    throw new StateDirectoryError(
      `Cannot use state directory '${path}' as it must belong to the user of the server, ${user}: ` +
        `it belongs to user ${uid}; run chown ${user} '${path}', or start the server as that user`,
      { code: "unusable" },
    );
  }
  if (mode === null || (mode & SHARED_BITS) === 0) return;
  if (await isEmpty(path)) return await Deno.chmod(path, 0o700);
  throw new StateDirectoryError(
    `Cannot use state directory '${path}' as only its owner may use it: its mode is ${
      (mode & 0o7777).toString(8)
    }; run chmod 700 '${path}'`,
    { code: "unusable" },
  );
}

async function isEmpty(path: string): Promise<boolean> {
  for await (const _ of Deno.readDir(path)) return false;
  return true;
}
