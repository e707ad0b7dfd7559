/** A wall of the operating system around the child, beside Deno's own permissions. */
export type Layer = "rlimits" | "noNewPrivs" | "parentDeath" | "bubblewrap" | "watchdog";

/**
 * How much a profile wants a layer. `required`: refuse to start without it. `installed`: use it where
 * its program is present, and refuse to start if it then does not work. `optional`: use it where it
 * works. `off`: do not use it.
 */
export type LayerMode = "required" | "installed" | "optional" | "off";

/** Every {@linkcode Layer}, from the inside out. */
export const LAYERS: readonly Layer[] = ["rlimits", "noNewPrivs", "parentDeath", "bubblewrap", "watchdog"];

/** Every {@linkcode LayerMode}, from the strictest on. */
export const LAYER_MODES: readonly LayerMode[] = ["required", "installed", "optional", "off"];

/**
 * What each layer stands on. The paths are fixed: a search through PATH would run whatever a host's
 * environment names.
 */
export const LAYER_PROGRAMS: Readonly<Record<Layer, string>> = {
  rlimits: "/bin/sh",
  noNewPrivs: "/usr/bin/setpriv",
  parentDeath: "/usr/bin/setpriv",
  bubblewrap: "/usr/bin/bwrap",
  watchdog: "/proc/self/statm",
};
