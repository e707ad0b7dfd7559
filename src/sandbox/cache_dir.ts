import { homedir } from "node:os";
import { join } from "node:path";

/** Where base images are kept unless the caller says otherwise: below the user's home. */
export function defaultCacheDir(): string {
  return join(homedir(), ".cache", "paddock");
}
