import type { Grader } from "../rewards/grader.ts";
import type { Profile } from "../sandbox/profile.ts";
import { graderSetup } from "./grader_setup.ts";
import { GRADERS } from "./graders.ts";

/** Interpreters for the programs that are graded, and as many for their tests. */
const SIZE = 2;

/** The graders that a server offers: all but a judge, which needs a model. Each is made when it is asked for. */
export async function servedGraders(
  flags: { cacheDir?: string },
  options: { profile: Profile; stack: AsyncDisposableStack },
): Promise<Map<string, () => Grader>> {
  const setup = await graderSetup(flags, { ...options, size: SIZE });
  const kinds = Object.entries(GRADERS).filter(([name]) => name !== "judge");
  return new Map(kinds.map(([name, kind]) => {
    let made: Grader | undefined;
    return [name, () => made ??= kind.make(setup)];
  }));
}
