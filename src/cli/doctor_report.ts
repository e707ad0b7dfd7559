import type { LayerMode, LayerReport } from "../sandbox/process/layers.ts";
import type { Attempt } from "./doctor_attempts.ts";
import type { Times } from "./doctor_times.ts";

/** A layer of the operating system: what the profile wants and what the host has. */
export interface LayerState extends LayerReport {
  readonly mode: LayerMode;
  readonly active: boolean;
  /** Whether the profile starts nothing for want of it. */
  readonly missing: boolean;
}

/** All that `paddock doctor` finds out. */
export interface DoctorReport {
  readonly ok: boolean;
  readonly paddock: string;
  readonly deno: { readonly version: string; readonly ok: boolean };
  readonly pyodide: string;
  readonly profile: string;
  readonly layers: readonly LayerState[];
  readonly image:
    | { readonly state: "cached" | "built"; readonly directory: string; readonly bytes: number }
    | null;
  readonly attempts: readonly Attempt[];
  readonly times: Times | null;
  /** Why no sandbox could be tried. */
  readonly failure: string | null;
}

/** The first version of Deno that has all that a sandbox needs. */
export const DENO_NEEDED = "2.9.4";

const GREEN = "\x1b[32m";
const RED = "\x1b[31m";
const PLAIN = "\x1b[0m";

/** The report as a person reads it. */
export function formatReport(report: DoctorReport, options: { colour: boolean }): string {
  const line = (good: boolean, text: string) => {
    const row = `${good ? "✓" : "✗"} ${text}`;
    return options.colour ? `${good ? GREEN : RED}${row}${PLAIN}` : row;
  };
  const { deno, pyodide, layers, attempts } = report;
  return [
    `Paddock ${report.paddock}, profile ${report.profile}`,
    line(deno.ok, `Deno ${deno.version} (${DENO_NEEDED} or later is needed)`),
    line(true, `Pyodide ${pyodide}`),
    "",
    "Layers of the operating system",
    ...layers.map((layer) =>
      layer.active || layer.missing ? line(layer.active, layerText(layer)) : `- ${layerText(layer)}`
    ),
    "",
    ...(report.failure === null ? [] : [line(false, report.failure), ""]),
    ...(attempts.length === 0 ? [] : ["Tried in a sandbox"]),
    ...attempts.map(({ name, holds, seen }) => line(holds, `${name.padEnd(42)}${seen}`)),
    "",
    ...figures(report),
  ].join("\n").replace(/\n{2,}/g, "\n\n").trimEnd() + "\n";
}

function layerText({ layer, mode, active, works, why }: LayerState): string {
  const state = active ? "active" : works ? "works, not used" : `does not work: ${why}`;
  return `${layer.padEnd(14)}${mode.padEnd(11)}${state}`;
}

function figures({ image, times }: DoctorReport): string[] {
  if (image === null || times === null) return [];
  return [
    `base image  ${image.state}, ${(image.bytes / 1e6).toFixed(1)} MB, ${image.directory}`,
    `start       ${times.startMs.toFixed(0)} ms`,
    `exec        ${times.execMs.toFixed(2)} ms`,
    `rewind      ${times.rewindMs.toFixed(1)} ms`,
  ];
}
