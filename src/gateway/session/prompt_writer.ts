import { TokenError } from "../../errors.ts";
import type { RecordedChat, Reply } from "../../policy/policy.ts";
import type { EpisodeWriter } from "../../rollout/tokens/episode_writer.ts";
import type { EpisodeTokens } from "../../rollout/trajectory.ts";

/** Writes the prompts and replies of a row. */
export interface PromptWriter extends Pick<EpisodeWriter, "prompt" | "start" | "step" | "tokens"> {
  /** Returns a writer of its own that continues here. */
  copy(): PromptWriter;
  /** Returns the chat of the next prompt. Absent if no tokens are recorded. */
  recordedChat?(): RecordedChat;
  /** Adds a reply, and returns its tokens; `undefined` if none are recorded. */
  reply(reply: Reply): ReturnType<EpisodeWriter["reply"]> | undefined;
}

/** A writer for a model server that returns no token ids: it records none. */
export class UntrackedWriter implements PromptWriter {
  readonly prompt = { text: "", ids: [] };

  copy(): PromptWriter {
    return this;
  }

  start(): void {}

  step(): void {}

  reply({ message: { role } }: Reply): undefined {
    if (role === "assistant") return;
    throw new TokenError(`Cannot write reply as its role must be 'assistant': current value is '${role}'`);
  }

  tokens(): EpisodeTokens {
    return { ids: [], lossMask: [] };
  }
}
