import { loadProfile, type Profile } from "../sandbox/profile.ts";
import type { GraderSetup } from "./graders.ts";
import { lazyPool } from "./lazy_pool.ts";
import { chosenPolicy } from "./policies.ts";

/** What graders may ask for, as the command line has it. */
export interface GraderFlags {
  /** The policy that judges. */
  judge?: string;
  /** The model that its server is asked for. */
  judgeModel?: string;
  cacheDir?: string;
}

/** More calls than any honest test makes of its candidate. */
const TEST_CALLS = 100_000;

/** Prepares what graders may ask for; interpreters are opened when one does. */
export async function graderSetup(
  flags: GraderFlags,
  options: { profile: Profile; size: number; stack: AsyncDisposableStack },
): Promise<GraderSetup> {
  const { profile, size, stack } = options;
  const { cacheDir } = flags;
  const tools = await loadProfile("tools");
  const testProfile = { ...tools, limits: { ...tools.limits, hostToolCalls: TEST_CALLS } };
  const judge = flags.judge === undefined ? undefined : await chosenPolicy(flags.judge, {
    model: flags.judgeModel,
    apiKey: Deno.env.get("OPENAI_API_KEY") || undefined,
    temperature: 0,
    asked: { policy: "--judge", model: "--judge-model" },
  });
  return {
    pool: lazyPool({ profile, size, resetMode: "fresh", cacheDir, stack }),
    testPool: lazyPool({ profile: testProfile, size, resetMode: "rewind", cacheDir, stack }),
    judge: judge?.policy,
  };
}
