import { basename, extname } from "node:path";
import type { Grader } from "../../rewards/grader.ts";
import { loadProfile, type Profile } from "../../sandbox/profile/profile.ts";
import { UsageError } from "../cli_errors.ts";
import { type GraderHost, openGrader, openServedGraders } from "../rollout/graders.ts";

/** Interpreters of a grader's file. */
const SIZE = 2;

/** Graders by name, each made at the first use. */
type GraderMap = ReadonlyMap<string, () => Grader>;

/** Options of {@linkcode openGatewayGraders}. */
export interface GatewayGraderOptions extends Pick<GraderHost, "stack" | "signal"> {
  /** Graders that are open. @default a server's graders, in the profile `serve` */
  readonly graders?: GraderMap | undefined;
  readonly profile?: Profile | undefined;
}

/**
 * Returns the graders that the owners of sessions may name: graders of a server, and graders of files by the files' names.
 *
 * @throws {UsageError} if a file has the name of another grader, or does not start.
 */
export async function openGatewayGraders(
  files: readonly string[],
  options: GatewayGraderOptions,
): Promise<GraderMap> {
  const { stack, signal, profile = await loadProfile("serve") } = options;
  const { graders = await openServedGraders({}, { profile, stack, signal }) } = options;
  const all = new Map(graders);
  for (const path of files) {
    const name = basename(path, extname(path));
    if (all.has(name)) {
      throw new UsageError(
        `Cannot offer grader '${path}' as no other grader may be called '${name}': rename the file`,
      );
    }
    const grader = await openGrader({ path, allow: [], allowFlag: "--grader-file" }, {}, {
      profile,
      size: SIZE,
      stack,
      signal,
    });
    all.set(name, () => grader);
  }
  return all;
}
