import type { Profile } from "../src/sandbox/profile/profile.ts";
import { Sandbox } from "../src/sandbox/sandbox.ts";
import type { Session } from "../src/sandbox/session.ts";
import { median, privateBytes, summarize } from "./measure.ts";
import type { Row } from "./row.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

const ROUNDS = 15;
/** Rewinds of a round. */
const REWINDS = 10;
const MB = 1e6;
const SETTLE_MS = 500;
/** Maximum that packages in the image add to a start and a rewind, in per cent. */
const MAX_ADDED = 25;

/** Returns what the rows need and the profile does not have; `undefined` if nothing is missing. */
export function missingForPackages({ profile }: BenchSetup): string | undefined {
  if (profile.packages.length > 0 && profile.preimports.length > 0) return undefined;
  return "give a profile with 'packages' and 'preimports' by -p";
}

/** Figures of the rounds of one profile. */
interface Figures {
  readonly starts: number[];
  readonly rewinds: number[];
  readonly firstImports: number[];
  readonly bytes: number[];
}

/**
 * Measures a profile with packages that are imported in its image, the same packages imported by each session, and
 * the same profile without packages, in turns.
 */
export async function packageRows(setup: BenchSetup): Promise<Row[]> {
  if (missingForPackages(setup) !== undefined) return [];
  const { profile } = setup;
  const variants: Record<"bare" | "demand" | "image", Profile> = {
    bare: { ...profile, packages: [], preimports: [] },
    demand: { ...profile, preimports: [] },
    image: profile,
  };
  const figures = { bare: noFigures(), demand: noFigures(), image: noFigures() };
  const names = ["bare", "demand", "image"] as const;
  for (let round = 0; round <= ROUNDS * setup.effort; round++) {
    for (const name of names) {
      const measured = await measureOnce({ ...setup, profile: variants[name] }, profile.preimports);
      if (round > 0) addFigures(figures[name], measured); // the first round builds images
    }
  }
  const added = (key: "starts" | "rewinds") =>
    median(figures.image[key].map((value, round) => 100 * (value / (figures.bare[key][round] ?? NaN) - 1)));
  const { bare, demand, image } = figures;
  return [
    { what: "session ready, without packages", ...summarize(bare.starts), unit: "ms" },
    { what: "the same, with packages that are imported later", ...summarize(demand.starts), unit: "ms" },
    { what: "the same, with packages in the image", ...summarize(image.starts), unit: "ms" },
    { what: "added by packages in the image", value: added("starts"), unit: "%", bound: MAX_ADDED },
    { what: "rewind, without packages", ...summarize(bare.rewinds), unit: "ms" },
    { what: "rewind, with packages in the image", ...summarize(image.rewinds), unit: "ms" },
    { what: "added by them to a rewind", value: added("rewinds"), unit: "%", bound: MAX_ADDED },
    { what: "first import, by the session", ...summarize(demand.firstImports), unit: "ms" },
    { what: "first import, in the image", ...summarize(image.firstImports), unit: "ms" },
    {
      what: "private memory, without packages",
      ...summarize(bare.bytes.map((bytes) => bytes / MB)),
      unit: "MB",
    },
    {
      what: "private memory, packages imported later",
      ...summarize(demand.bytes.map((bytes) => bytes / MB)),
      unit: "MB",
    },
    {
      what: "private memory, packages in the image",
      ...summarize(image.bytes.map((bytes) => bytes / MB)),
      unit: "MB",
    },
  ];
}

function noFigures(): Figures {
  return { starts: [], rewinds: [], firstImports: [], bytes: [] };
}

function addFigures(figures: Figures, measured: Figures): void {
  for (const key of ["starts", "rewinds", "firstImports", "bytes"] as const) {
    figures[key].push(median(measured[key]));
  }
}

async function measureOnce(setup: BenchSetup, modules: readonly string[]): Promise<Figures> {
  const startedAt = performance.now();
  await using sandbox = await Sandbox.start(poolOptions(setup));
  const session = await sandbox.openSession();
  const starts = [performance.now() - startedAt];
  const rewinds: number[] = [];
  for (let run = 0; run < REWINDS; run++) rewinds.push(await timeOf(() => session.reset({ mode: "rewind" })));
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const bytes = [await privateBytes(sandbox.pid ?? 0) ?? NaN];
  const hasPackages = setup.profile.packages.length > 0;
  const firstImports = [hasPackages ? await timeOf(() => importAll(session, modules)) : NaN];
  return { starts, rewinds, bytes, firstImports };
}

async function importAll(session: Session, modules: readonly string[]): Promise<void> {
  const result = await session.exec(`import ${modules.join(", ")}`);
  if (result.status !== "ok") throw new Error(`cannot import ${modules.join(", ")}: ${result.status}`);
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
