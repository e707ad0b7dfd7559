import { GNU_NAMES, type GnuName } from "./gnu/gnu_names.ts";

/** Commands of the shell that the engine never had. */
const NEW: ReadonlySet<GnuName> = new Set(
  ["bc", "cmp", "mktemp", "nohup", "nproc", "patch", "realpath"] as const,
);

/**
 * Commands of the engine that the shell replaces and never calls. The build of an image leaves their code out, as a
 * session takes longer to load a larger engine.
 */
export const REPLACED_COMMANDS: readonly string[] = [
  ...GNU_NAMES.filter((name) => !NEW.has(name)),
  "awk",
  "gunzip",
  "gzip",
  "md5sum",
  "od",
  "rg",
  "sha1sum",
  "sha256sum",
  "split",
  "whoami",
  "zcat",
];
