import { messageText } from "../../../message.ts";
import { ScriptFile } from "../../../policy/scripted.ts";
import { humanUser } from "../../../users/human_user.ts";
import { llmUser, type UserStrategyName } from "../../../users/llm_user.ts";
import { scriptedUser } from "../../../users/scripted_user.ts";
import type { UserFactory } from "../../../users/user_simulator.ts";
import { lookUp } from "../../options.ts";
import { resolvePolicy } from "../policies.ts";
import type { WatchedServerOptions } from "../server_watch.ts";
import { rethrowAsUsageError, UsageError } from "../../cli_errors.ts";
import { currentIo } from "../../io.ts";

/** Options of the simulated users of a run. */
export interface UserFlags {
  user?: string;
  /** Model name that is sent to the user's server. */
  userModel?: string;
  userStrategy?: UserStrategyName;
  concurrency?: number;
  /** Options of the server that plays the user. */
  server?: WatchedServerOptions;
}

/** Strategies of models that play a user. */
export const USER_STRATEGIES: readonly UserStrategyName[] = ["llm", "react", "verify", "reflection"];

interface UserKind {
  /** A line for a help text. */
  readonly about: string;
  /** Makes a factory. `argument` is the text after the colon, `envName` the prefix of the ids of the env's tasks. */
  make(argument: string, options: UserFlags & { envName: string }): UserFactory | Promise<UserFactory>;
}

/** Simulated users by their names for `--user`. */
export const USERS: Readonly<Record<string, UserKind>> = {
  scripted: {
    about: "scripted:FILE, JSON lines { id, replies } with the user's message of each turn",
    make: scriptedUsers,
  },
  openai: { about: "openai:URL, a server of chat completions; needs --user-model", make: modelUsers },
  human: {
    about: "a person on this terminal; needs --concurrency 1",
    make: (_, options) => humanUsers(options),
  },
};

/**
 * Returns a factory of simulated users, called once per episode.
 *
 * @throws {UsageError} if no user is named, the name is unknown, or an option of the user is missing.
 */
export async function resolveUser(flags: UserFlags, envName: string): Promise<UserFactory> {
  if (flags.user === undefined) {
    throw new UsageError(
      "Cannot play as the env needs a user: give --user scripted:FILE or openai:URL",
    );
  }
  const [, scheme = "", argument = ""] = /^([^:]*):?([^]*)$/.exec(flags.user) ?? [];
  return await lookUp(USERS, scheme, "user").make(argument, { ...flags, envName });
}

/** Finds the lines of an episode by the task's id: the env's name, a slash and the index. */
async function scriptedUsers(path: string, { envName }: { envName: string }): Promise<UserFactory> {
  const file = await readScript(path);
  return () =>
    scriptedUser(({ index }) => {
      const lines = file.repliesOf(`${envName}/${index}`);
      return lines?.map((line) => typeof line === "string" ? line : messageText(line));
    });
}

async function readScript(path: string): Promise<ScriptFile> {
  return await rethrowAsUsageError(() => ScriptFile.read(path));
}

async function modelUsers(url: string, { userModel, userStrategy, server }: UserFlags): Promise<UserFactory> {
  if (url === "") throw new UsageError("Cannot play the user as it needs a URL: give --user openai:URL");
  if (userModel === undefined) {
    throw new UsageError("Cannot play the user as its server needs a model name: give --user-model NAME");
  }
  const apiKey = currentIo().env.get("OPENAI_API_KEY") || undefined;
  const { policy } = await resolvePolicy(`openai:${url}`, { ...server, model: userModel, apiKey });
  return () => llmUser({ policy, strategy: userStrategy });
}

/** Returns the same person for all episodes. Their end must not dispose the terminal. */
function humanUsers({ concurrency }: UserFlags): UserFactory {
  if (concurrency !== 1) {
    throw new UsageError("Cannot play as a person plays one user at a time: give --concurrency 1");
  }
  const { [Symbol.asyncDispose]: _dispose, ...user } = humanUser();
  return () => user;
}
