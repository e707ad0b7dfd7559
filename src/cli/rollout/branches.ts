import type { BranchPoint } from "../../rollout/rollout_tree.ts";
import { checkBranchPoints } from "../../rollout/rollout_tree.ts";
import { checkUsage, UsageError } from "../cli_errors.ts";

/** Flags of a run that matter to branches. */
export interface BranchFlags {
  /** Points such as `4@2`. */
  branch?: readonly string[];
  mcp?: string;
  resume?: boolean;
  user?: string;
}

/**
 * Returns the points at which each episode branches; `undefined` without the flag.
 *
 * @throws {UsageError} if a point is invalid, or another flag does not go with branches.
 */
export function resolveBranches(
  { branch, mcp, resume, user }: BranchFlags,
  { maxTurns }: { maxTurns: number },
): readonly BranchPoint[] | undefined {
  if (branch === undefined) return undefined;
  const points = branch.map(parsePoint);
  checkUsage(() => void checkBranchPoints(points, { maxTurns }));
  if (mcp !== undefined) refuse("--mcp", "the state of MCP servers cannot be copied");
  if (user === "human") refuse("--user human", "a person talks in one conversation at a time");
  if (resume) refuse("--resume", "an unfinished tree is not continued");
  return points;
}

function parsePoint(text: string): BranchPoint {
  const [, count, turn] = /^(\d{1,9})@(\d{1,9})$/.exec(text) ?? [];
  if (count !== undefined && turn !== undefined) return { count: Number(count), turn: Number(turn) };
  throw new UsageError(
    `Cannot branch as --branch must be COUNT@TURN, for example 4@2: current value is '${text}'`,
  );
}

function refuse(flag: string, reason: string): never {
  throw new UsageError(`Cannot play trees with ${flag} as ${reason}: remove ${flag} or --branch`);
}
