import { homedir } from "node:os";
import { join } from "node:path";

/** Returns the default directory of base images: `.cache/paddock` in the home directory of the user. */
export function defaultCacheDir(): string {
  return join(homedir(), ".cache", "paddock");
}
