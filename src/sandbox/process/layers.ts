import { requireKnownOptions } from "../../options.ts";
import { SandboxError } from "../../errors.ts";
import type { Profile } from "../profile/profile.ts";
import { type Layer, LAYER_PROGRAMS, type LayerMode, LAYERS } from "../profile/schema.ts";
import { isRoot, LayerProbes, type ProbeOptions } from "./layer_probes.ts";

export type { Layer, LayerMode } from "../profile/schema.ts";

/** Result of trying a layer on this host. */
export interface LayerReport {
  readonly layer: Layer;
  /** True if the program or file that the layer needs is present. */
  readonly installed: boolean;
  /** True if the layer had its effect. */
  readonly works: boolean;
  /** Reason why the layer does not work. */
  readonly why?: string;
  /** Layer without which this layer has no effect on this host. */
  readonly needs?: Layer;
}

/** Options of {@linkcode detectLayers}. */
export interface DetectLayersOptions extends ProbeOptions {
  /**
   * Programs to try.
   *
   * @default {@linkcode LAYER_PROGRAMS}
   */
  programs?: Partial<Readonly<Record<Layer, string>>> | undefined;
}

let detection: Promise<LayerReport[]> | undefined;

/**
 * Tries every layer on this host, which takes some 100 milliseconds. Without options, each process tries them
 * once and then returns the same result.
 */
export async function detectLayers(options: DetectLayersOptions = {}): Promise<LayerReport[]> {
  requireKnownOptions("call detectLayers", options, { programs: true, rlimits: true, signal: true });
  if (Object.values(options).some((option) => option !== undefined)) return await tryLayers(options);
  return await (detection ??= tryLayers({}));
}

async function tryLayers(options: DetectLayersOptions): Promise<LayerReport[]> {
  const probes = new LayerProbes(options);
  const programs = { ...LAYER_PROGRAMS, ...options.programs };
  return await Promise.all(LAYERS.map((layer) => tryLayer(layer, programs[layer], probes)));
}

async function tryLayer(layer: Layer, program: string, probes: LayerProbes): Promise<LayerReport> {
  if (!await isPresent(program)) {
    return { layer, installed: false, works: false, why: `there is no ${program}` };
  }
  const why = await probes.probe(layer, program);
  const needs = neededLayer(layer);
  return {
    layer,
    installed: true,
    works: why === undefined,
    ...(why !== undefined && { why }),
    ...(needs && { needs }),
  };
}

async function isPresent(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    // A file that cannot be examined may still be executable: the probe finds out.
    return !(error instanceof Deno.errors.NotFound);
  }
}

function neededLayer(layer: Layer): Layer | undefined {
  if (layer === "unprivilegedUser") return isRoot() ? "mountNamespace" : undefined;
  if (layer === "capabilities") return isRoot() ? undefined : "userNamespace";
  return layer !== "userNamespace" && layer.endsWith("Namespace") ? "userNamespace" : undefined;
}

/** Layers that bubblewrap provides, where util-linux cannot. */
const BUBBLEWRAP_LAYERS: readonly Layer[] = [
  "capabilities",
  "userNamespace",
  "netNamespace",
  "ipcNamespace",
  "utsNamespace",
  "pidNamespace",
  "mountNamespace",
];

const NAMESPACE_REMEDY =
  "install util-linux or bubblewrap (apt install util-linux bubblewrap); allow user namespaces (sysctl -w user.max_user_namespaces=15000; on Debian also kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in Docker a seccomp profile that allows 'unshare' and 'mount')";
const SETPRIV_REMEDY = "install util-linux, for /usr/bin/setpriv (apt install util-linux)";
const CONFINE_REMEDY = "use Linux on x86-64 or arm64 with glibc, built with CONFIG_SECCOMP_FILTER";

/** Advice for a host that lacks a layer, by layer. */
export const LAYER_REMEDIES: Readonly<Record<Layer, string>> = {
  rlimits: "install a POSIX shell as /bin/sh, and raise the hard limits that are too low",
  noNewPrivs: SETPRIV_REMEDY,
  parentDeath: SETPRIV_REMEDY,
  unprivilegedUser:
    "run Paddock as another user than root, or make mountNamespace work; as root, without mounts",
  capabilities: NAMESPACE_REMEDY,
  userNamespace: NAMESPACE_REMEDY,
  netNamespace: NAMESPACE_REMEDY,
  ipcNamespace: NAMESPACE_REMEDY,
  utsNamespace: NAMESPACE_REMEDY,
  pidNamespace: NAMESPACE_REMEDY,
  mountNamespace: `${NAMESPACE_REMEDY}; Deno's libraries must be in /lib, /lib64 or /usr/lib`,
  descriptors: CONFINE_REMEDY,
  seccomp: CONFINE_REMEDY,
  landlock: "use Linux 5.13 or later, with 'landlock' in the boot parameter lsm=",
  speculation:
    "use a kernel and a processor, or a virtual machine that shows its features, with both controls of prctl",
  bubblewrap: "install bubblewrap (apt install bubblewrap); needed only where the namespaces do not work",
  memoryCgroup:
    "run Paddock as a systemd service with User=, Delegate=memory and DelegateSubgroup=host (systemd 254 or later)",
  watchdog: "mount /proc without hidepid (mount -o remount,hidepid=0 /proc)",
};

/** The part of a profile that decides on its layers. */
export type LayerSettings = Pick<Profile, "name" | "layers"> & Partial<Pick<Profile, "mounts">>;

/**
 * Returns the layers that a sandbox of a profile is started with, on a host with the results `detected`.
 * Bubblewrap is used if the profile requests it, or to provide layers that work by no other means.
 *
 * @throws {SandboxError} if a layer that the profile requires does not work; the message names each, with the
 * reason and the remedy.
 */
export function activeLayers(profile: LayerSettings, detected: readonly LayerReport[]): ReadonlySet<Layer> {
  const states = layerStates(profile, detected);
  const missing = states.filter((state) => state.missing);
  if (missing.length > 0) {
    throw new SandboxError(
      `Cannot start sandbox as profile '${profile.name}' needs layers that this host lacks: ${
        missingReasons(missing).join("; ")
      }`,
    );
  }
  return new Set(states.filter(({ active }) => active).map(({ layer }) => layer));
}

/** Returns why layers do not work, with the remedy. Layers with the same reason are in a single text. */
function missingReasons(missing: readonly LayerState[]): string[] {
  const groups = Map.groupBy(missing, ({ layer, why }) => `${why} (${LAYER_REMEDIES[layer]})`);
  return [...groups].map(([reason, states]) => {
    const names = states.map(({ layer, mode }) => `'${layer}', ${mode},`).join(" ");
    return `${names} ${states.length > 1 ? "do" : "does"} not work: ${reason}`;
  });
}

/** State of a layer: mode in a profile and availability on the host. */
export interface LayerState extends LayerReport {
  readonly mode: LayerMode;
  readonly active: boolean;
  /** True if the profile cannot start a sandbox because the layer does not work. */
  readonly missing: boolean;
}

/** Returns the state of every layer for a profile, on a host with the results `detected`. */
export function layerStates(profile: LayerSettings, detected: readonly LayerReport[]): LayerState[] {
  const found = new Map(detected.map((report) => [report.layer, report]));
  const isWrapped = usesBubblewrap(profile, found);
  return LAYERS.map((layer) => {
    const mode = profile.layers[layer];
    const provided = isWrapped && BUBBLEWRAP_LAYERS.includes(layer);
    const report = provided
      ? { layer, installed: true, works: true }
      : reportFor(profile, found.get(layer) ?? untriedReport(layer));
    const isUsed = mode !== "off" && (layer !== "bubblewrap" || isWrapped);
    return { ...report, mode, active: report.works && isUsed, missing: isMissing(mode, report) };
  });
}

function usesBubblewrap({ layers }: LayerSettings, found: ReadonlyMap<Layer, LayerReport>): boolean {
  if (layers.bubblewrap === "off" || !found.get("bubblewrap")?.works) return false;
  return layers.bubblewrap !== "optional" || !found.get("mountNamespace")?.works;
}

/** Returns the report of a layer on the host, unless the profile itself prevents the layer. */
function reportFor(profile: LayerSettings, report: LayerReport): LayerReport {
  const { layer, works, needs } = report;
  if (!works || needs === undefined) return report;
  if (profile.layers[needs] === "off") {
    return { ...report, works: false, why: `the profile has no '${needs}'` };
  }
  if (layer !== "unprivilegedUser" || (profile.mounts ?? []).length === 0) return report;
  return { ...report, works: false, why: "mounted files may be readable by root only" };
}

function isMissing(mode: LayerMode, { installed, works }: LayerReport): boolean {
  return !works && (mode === "required" || (mode === "installed" && installed));
}

function untriedReport(layer: Layer): LayerReport {
  return { layer, installed: false, works: false, why: "it was not tested" };
}
