import type { Summary } from "./summary.ts";

const WIDTH = 24;

/** How far a run is, in one line with a bar where the end is known. */
export function formatProgressBar(summary: Summary, total?: number): string {
  const { episodes } = summary;
  if (total === undefined || total < 1) return `${episodes} done  ${numbers(summary)}`;
  const filled = Math.min(WIDTH, Math.floor(WIDTH * episodes / total));
  const bar = `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)}`;
  return `${bar} ${episodes}/${total}  ${numbers(summary)}${timeLeft(summary, total)}`;
}

/** The same without the bar, for a log. */
export function formatProgress(summary: Summary, total?: number): string {
  const of = total === undefined ? "" : `/${total}`;
  return `${summary.episodes}${of} done  ${numbers(summary)}${timeLeft(summary, total)}`;
}

function numbers(summary: Summary): string {
  const { running, failed, meanReward, episodesPerSecond } = summary;
  const parts = [`${running} running`, `${failed} failed`, `reward ${meanReward?.toFixed(3) ?? "-"}`];
  return `${parts.join("  ")}  ${episodesPerSecond.toFixed(1)}/s`;
}

function timeLeft({ episodes, episodesPerSecond }: Summary, total = 0): string {
  const left = total - episodes;
  return left > 0 && episodesPerSecond > 0 ? `  ETA ${clock(left / episodesPerSecond)}` : "";
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const ending = `${String(minutes).padStart(hours > 0 ? 2 : 1, "0")}:${String(rest).padStart(2, "0")}`;
  return hours > 0 ? `${hours}:${ending}` : ending;
}
