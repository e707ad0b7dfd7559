import { Option } from "commander";
import type { Profile } from "../sandbox/profile/profile.ts";
import { rethrowAsUsageError, UsageError } from "./cli_errors.ts";
import { currentIo } from "./io.ts";
import { writeText } from "./output.ts";
import { cacheDirectory } from "./sandbox_options.ts";

/** Returns the option `--time-scale`. */
export function timeScaleOption(): Option {
  return new Option(
    "--time-scale <n>",
    "factor of the limits of time of programs, such as 2.3, or auto to measure it against python3",
  );
}

/**
 * Returns a profile with the factor of `--time-scale`, which is recorded in each row; without the option the profile
 * itself. The factor `auto` is measured, and printed to stderr.
 *
 * @throws {UsageError} if the value is neither `auto` nor a number from 0.1 to 20, or there is no `python3`.
 */
export async function withTimeScale(
  profile: Profile,
  { timeScale, cacheDir, signal }: { timeScale?: string; cacheDir?: string; signal: AbortSignal },
): Promise<Profile> {
  if (timeScale === undefined) return profile;
  if (timeScale === "auto") {
    const { measureTimeScale } = await import("../sandbox/time_scale/time_scale.ts");
    const measured = await rethrowAsUsageError(() =>
      measureTimeScale({ profile, cacheDir: cacheDirectory(cacheDir), signal })
    );
    await writeText(currentIo().stderr, `Limits of time are multiplied by ${measured}, as measured\n`);
    return { ...profile, timeScale: measured };
  }
  const factor = Number(timeScale);
  if (timeScale.trim() !== "" && factor >= 0.1 && factor <= 20) return { ...profile, timeScale: factor };
  throw new UsageError(
    `Cannot use --time-scale '${timeScale}' as it must be 'auto' or a number from 0.1 to 20`,
  );
}
