import { ScriptFile } from "../policy/script_file.ts";
import { messageText } from "../message.ts";
import { scriptedUser } from "../users/scripted_user.ts";
import type { MakeUser } from "../users/user_simulator.ts";
import { UsageError } from "./usage_error.ts";

/** Who plays the users of a run. */
export interface UserFlags {
  /** `scripted:FILE`, or a policy. */
  user?: string;
  /** The model that the policy's server is asked for. */
  userModel?: string;
}

const SCRIPTED = "scripted:";

/**
 * Who plays the users of an env, made anew for each episode. The lines of a script are found by the task's id,
 * which is the env's name, a slash and the index.
 *
 * @throws {UsageError} when nobody is named, or there is no such user.
 */
export async function chosenUser({ user }: UserFlags, envName: string): Promise<MakeUser> {
  if (user === undefined) {
    throw new UsageError(
      "Cannot play as somebody must play the user: give --user scripted:FILE or openai:URL",
    );
  }
  if (!user.startsWith(SCRIPTED)) throw new UsageError(`Cannot find user '${user}': there are scripted:FILE`);
  const file = await readScript(user.slice(SCRIPTED.length));
  return () =>
    scriptedUser(({ index }) => {
      const lines = file.repliesOf(`${envName}/${index}`);
      return lines?.map((line) => typeof line === "string" ? line : messageText(line));
    });
}

async function readScript(path: string): Promise<ScriptFile> {
  try {
    return await ScriptFile.read(path);
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
