import { join, resolve } from "node:path";
import { defaultCacheDir } from "../../../sandbox/image/cache_dir.ts";

/** A wheel of math-verify or of a library that math-verify needs. All are pure Python. */
export interface Wheel {
  /** Name on the package index. */
  readonly name: string;
  readonly version: string;
  readonly file: string;
  readonly sha256: string;
}

/** The wheels of math-verify. `deno task fetch-math-verify` downloads them. */
export const WHEELS: readonly Wheel[] = [
  wheel("math-verify", "0.9.0", "3703e7c4885354027fa84409d762a596a2906d1fd4deb78361876bd905a76194"),
  wheel(
    "latex2sympy2_extended",
    "1.11.0",
    "aebb77d52ce269e25028e4bea89ddb14d242ba36bcf7b636496fb5fd9728d234",
  ),
  wheel(
    "antlr4_python3_runtime",
    "4.13.2",
    "fe3835eb8d33daece0e799090eda89719dbccee7aa39ef94eed3818cafa5a7e8",
  ),
  wheel("sympy", "1.14.0", "e091cc3e99d2141a0ba2847328f5479b05d94a6635cb96148ccb3f34671bd8f5"),
  wheel("mpmath", "1.3.0", "a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c"),
];

function wheel(name: string, version: string, sha256: string): Wheel {
  return { name, version, file: `${name.replace("-", "_")}-${version}-py3-none-any.whl`, sha256 };
}

/** Returns the folder of the wheels in a cache folder, which is by default the folder of base images. */
export function wheelFolder(cacheDir: string = defaultCacheDir()): string {
  return resolve(cacheDir, "math-verify");
}

/** Returns the first wheel that a cache folder lacks; `undefined` if the folder has all wheels. */
export function findMissingWheel(cacheDir?: string): Wheel | undefined {
  return WHEELS.find(({ file }) => {
    try {
      return !Deno.statSync(join(wheelFolder(cacheDir), file)).isFile;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return true;
      throw error;
    }
  });
}

/**
 * Checks that the wheels exist. Their hashes are checked when the image is built.
 *
 * @throws {Deno.errors.NotFound} if a wheel is missing.
 */
export function requireWheels(cacheDir?: string): void {
  const missing = findMissingWheel(cacheDir);
  if (missing === undefined) return;
  throw new Deno.errors.NotFound(
    `Cannot use verifier 'math-verify' as '${wheelFolder(cacheDir)}' must have its wheels: ` +
      `'${missing.file}' is missing; run 'deno task fetch-math-verify' once`,
  );
}
