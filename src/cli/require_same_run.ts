import type { Tokenizer } from "../chat/tokenizer.ts";
import type { InteractionResult } from "../rollout/interaction_result.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { GRADERS } from "../rewards/registry.ts";
import { UsageError } from "./usage_error.ts";

/** Who plays and who scores in a run that goes on with a file. */
export interface RunVersions {
  /** The file. */
  readonly out: string;
  /** The policy's name. */
  readonly policy: string | undefined;
  /** The grader's name, or `none`. */
  readonly grader: string;
}

/**
 * Refuses to go on with an episode that another policy has played or another grader scored: a mean over both says
 * nothing.
 *
 * @throws {UsageError} when it is one.
 */
export function requireSameRun(trajectory: Trajectory, { out, policy, grader }: RunVersions): void {
  const played = trajectory.versions.policy;
  if (played !== undefined && policy !== undefined && played !== policy) {
    throw new UsageError(
      `Cannot resume '${out}' as it must hold episodes of '${policy}': it has one of '${played}'`,
    );
  }
  const scored = graderOf(trajectory, grader);
  if (scored === undefined || scored === grader) return;
  throw new UsageError(
    `Cannot resume '${out}' as its episodes must be scored by '${grader}': one is scored by '${scored}'`,
  );
}

/**
 * Refuses to go on with an episode of another tokenizer: ids of both in one file say nothing.
 *
 * @throws {UsageError} when it is one.
 */
export function requireSameTokens(
  { prompt, tokens, response_length }: InteractionResult,
  { out, tokenizer }: { out: string; tokenizer: Tokenizer },
): void {
  const ids = tokenizer.encode(prompt);
  if (ids.join() === tokens.slice(0, tokens.length - response_length).join()) return;
  throw new UsageError(
    `Cannot resume '${out}' as its tokens must be those of tokenizer '${tokenizer.name}': they are others`,
  );
}

/** Who scored an episode; `undefined` when that cannot be said, as when its env did. */
function graderOf({ reward, rewardParts }: Trajectory, wanted: string): string | undefined {
  if (rewardParts === undefined) return reward === null ? "none" : undefined;
  const graders = Object.keys(rewardParts).filter((name) => Object.hasOwn(GRADERS, name));
  return graders.includes(wanted) ? wanted : graders[0];
}
