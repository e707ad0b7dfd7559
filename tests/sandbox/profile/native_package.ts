import { zipSync } from "fflate";
import { join } from "node:path";
import { sha256 } from "../../../src/hash.ts";
import { parseProfile } from "../../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { copyPlainImage } from "../copy_image.ts";

/** Name of a wheel with native code of this platform. */
export const WHEEL = "native-1.0-py3-none-pyemscripten_2026_0_wasm32.whl";

const encoder = new TextEncoder();

/** Starts a sandbox whose profile has the package `native` with these files. */
export async function startWithPackage(
  directory: string,
  options: { preimports: string[]; files: Record<string, string | Uint8Array>; wheel?: string },
): Promise<Sandbox> {
  const { wheel = WHEEL, files, preimports } = options;
  const contents = Object.entries(files).map(([path, file]) =>
    [path, typeof file === "string" ? encoder.encode(file) : file] as const
  );
  const bytes = zipSync(Object.fromEntries(contents));
  await Deno.writeFile(join(directory, wheel), bytes);
  await copyPlainImage(join(directory, "cache"));
  const packages = { native: { wheel, sha256: await sha256(bytes) } };
  const profile = parseProfile(JSON.stringify({ preimports, packages }), { source: "mine", directory });
  return await Sandbox.start({ cacheDir: join(directory, "cache"), profile });
}
