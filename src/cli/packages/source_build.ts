import * as z from "zod";
import { sha256 } from "../../hash.ts";
import { isPackageFileName, normalizeName } from "../../sandbox/profile/packages.ts";
import { parseProfile } from "../../sandbox/profile/profile.ts";
import { Sandbox } from "../../sandbox/sandbox.ts";
import type { ExecResult } from "../../sandbox/contract/exec.ts";
import script from "./source_build.py" with { type: "text" };

/** The sandbox of a build. The build is code of the package, and hostile. */
const PROFILE = JSON.stringify({
  limits: {
    timeoutMs: 120_000,
    cpuSeconds: 120,
    memoryBytes: 1024 * 1024 * 1024,
    fileBytes: 256 * 1024 * 1024, // a source of 32 MiB, unpacked, and the wheel
  },
});

const resultSchema = z.union([
  z.object({ refused: z.string() }),
  z.object({ requires: z.array(z.string()) }),
  z.object({ file: z.string() }),
]);

/** A wheel that was built from source. */
export interface BuiltWheel {
  readonly file: string;
  readonly contents: Uint8Array;
  readonly sha256: string;
}

/** A source distribution. */
interface SourceFile {
  readonly file: string;
  readonly contents: Uint8Array;
}

/** Options of {@linkcode buildWheel}. */
export interface BuildOptions {
  /** Name of the package. */
  readonly name: string;
  readonly source: SourceFile;
  readonly cacheDir: string;
  /** Returns the wheels that the build needs, by the names of their files. */
  readonly fetchWheels: (requirements: readonly string[]) => Promise<ReadonlyMap<string, Uint8Array>>;
  readonly signal: AbortSignal;
}

/** A source distribution that cannot be built into a pure wheel. The message is the reason. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}

/**
 * Builds a source distribution into a pure wheel in a sandbox. Native extensions that are optional are left out.
 *
 * @throws {BuildError} if the source has no such build.
 */
export async function buildWheel(options: BuildOptions): Promise<BuiltWheel> {
  const { name, source, cacheDir, fetchWheels, signal } = options;
  const profile = parseProfile(PROFILE, { source: "build" });
  await using sandbox = await Sandbox.start({ profile, cacheDir, signal });
  const session = await sandbox.openSession({ signal });
  const archive = source.file.endsWith(".zip") ? "source.zip" : "source.tar.gz";
  const inspected = await session.exec(`${script}\nrun(inspect, ${JSON.stringify(archive)})`, {
    files: { [archive]: source.contents },
    fetchFiles: ["result.json"],
    signal,
  });
  const first = readResult(inspected);
  if (!("requires" in first)) throw new BuildError("its build gave no requirements");
  const wheels = await fetchWheels(first.requires);
  const built = await session.exec(
    `run(build, ${JSON.stringify(archive)}, ${JSON.stringify([...wheels.keys()])})`,
    {
      files: Object.fromEntries(wheels),
      fetchFiles: ["result.json", "built.whl"],
      signal,
    },
  );
  const second = readResult(built);
  const wheel = built.files?.["built.whl"];
  const [project = ""] = "file" in second ? second.file.split("-") : [];
  if (!("file" in second) || wheel === undefined || !isPackageFileName(second.file)) {
    throw new BuildError("its build made no wheel");
  }
  if (normalizeName(project) !== name) throw new BuildError(`its build made a wheel of '${project}'`);
  return { file: second.file, contents: wheel, sha256: await sha256(wheel) };
}

/** Reads the output of a step of the build. Code of the step may have replaced the file. */
function readResult(result: ExecResult): z.infer<typeof resultSchema> {
  const bytes = result.files?.["result.json"];
  if (result.status !== "ok" || bytes === undefined) {
    throw new BuildError(`its build ended with ${result.status}`);
  }
  let found: z.infer<typeof resultSchema>;
  try {
    found = resultSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    throw new BuildError("its build wrote no result"); // the build's code wrote something else
  }
  if ("refused" in found) throw new BuildError(found.refused);
  return found;
}
