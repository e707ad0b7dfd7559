import { SandboxPool } from "../sandbox/pool.ts";
import type { Profile } from "../sandbox/profile/profile.ts";
import { announceBuild, cacheDirectory } from "./sandbox_flags.ts";

/** What a {@linkcode createLazyPool} opens. */
export interface LazyPoolOptions {
  profile: Profile;
  /** Interpreters at once. */
  size: number;
  resetMode: "rewind" | "fresh";
  cacheDir?: string | undefined;
  /** Closes the pool, where it was opened. */
  stack: AsyncDisposableStack;
}

/** A pool that is opened by the first who asks for it. */
export function createLazyPool(options: LazyPoolOptions): () => SandboxPool {
  const { cacheDir, stack, ...rest } = options;
  let pool: SandboxPool | undefined;
  return () => {
    pool ??= stack.use(
      new SandboxPool({ ...rest, cacheDir: cacheDirectory(cacheDir), onBuild: announceBuild }),
    );
    return pool;
  };
}
