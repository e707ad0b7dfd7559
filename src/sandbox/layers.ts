import { SandboxError } from "../errors.ts";
import { type Layer, LAYER_PROGRAMS, type LayerMode, LAYERS } from "./layer.ts";
import { probeLayer, type ProbeOptions } from "./layer_probes.ts";

export type { Layer, LayerMode } from "./layer.ts";

/** What came of trying a layer on this host. */
export interface LayerReport {
  readonly layer: Layer;
  /** Whether what it stands on is present. */
  readonly installed: boolean;
  /** Whether it did what it is for. */
  readonly works: boolean;
  /** Why it does not work. */
  readonly why?: string;
}

/** How {@linkcode detectLayers} tries the layers. */
export interface DetectLayersOptions extends ProbeOptions {
  /** Programs to try in place of {@linkcode LAYER_PROGRAMS}. */
  programs?: Partial<Readonly<Record<Layer, string>>> | undefined;
}

/** Tries every layer for real on this host, in some milliseconds; the caller keeps the answer. */
export function detectLayers(options: DetectLayersOptions = {}): Promise<LayerReport[]> {
  const programs = { ...LAYER_PROGRAMS, ...options.programs };
  return Promise.all(LAYERS.map((layer) => detectLayer(layer, programs[layer], options)));
}

/**
 * The layers that a profile's sandbox is started with on a host where `detected` was found.
 *
 * @throws {SandboxError} when a layer that the profile insists on does not work; names each, and why.
 */
export function activeLayers(
  profile: { readonly name: string; readonly layers: Readonly<Record<Layer, LayerMode>> },
  detected: readonly LayerReport[],
): ReadonlySet<Layer> {
  const reports = LAYERS.map((layer) => detected.find((report) => report.layer === layer) ?? untried(layer));
  const missing = reports.filter((report) => isMissing(profile.layers[report.layer], report));
  if (missing.length > 0) {
    const faults = missing.map(({ layer, why }) =>
      `'${layer}', ${profile.layers[layer]}, does not work: ${why}`
    );
    throw new SandboxError(
      `Cannot start sandbox as profile '${profile.name}' needs layers that this host lacks: ${
        faults.join("; ")
      }`,
    );
  }
  return new Set(
    reports.filter(({ layer, works }) => works && profile.layers[layer] !== "off").map(({ layer }) => layer),
  );
}

function isMissing(mode: LayerMode, { installed, works }: LayerReport): boolean {
  return !works && (mode === "required" || (mode === "installed" && installed));
}

function untried(layer: Layer): LayerReport {
  return { layer, installed: false, works: false, why: "it was not tried" };
}

async function detectLayer(layer: Layer, program: string, options: ProbeOptions): Promise<LayerReport> {
  if (Deno.build.os !== "linux") {
    return { layer, installed: false, works: false, why: "it is a layer of Linux" };
  }
  if (!await isPresent(program)) {
    return { layer, installed: false, works: false, why: `there is no ${program}` };
  }
  const why = await probeLayer(layer, program, options);
  return why === undefined
    ? { layer, installed: true, works: true }
    : { layer, installed: true, works: false, why };
}

async function isPresent(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    // What may not be looked at may still be run: the probe will tell.
    return !(error instanceof Deno.errors.NotFound);
  }
}
