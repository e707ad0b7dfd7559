import { formatDate } from "../../gnu/date.ts";
import type { Zone } from "../../gnu/time_zone.ts";
import { offsetText, type Signature } from "../store/commit_object.ts";
import { fatal, refuse } from "../store/git_error.ts";

/** Returns the date of a signature in a form of `--date`. */
export function dateText({ seconds, offset }: Signature, form: string, zone: Zone): string {
  const isLocal = /(?:^|-)local$/.test(form);
  const minutes = isLocal ? zone(seconds * 1000).minutes : offset;
  const at = (format: string) =>
    formatDate(
      format,
      seconds * 1000,
      () => ({ minutes, name: minutes === 0 ? "UTC" : offsetText(minutes) }),
    );
  const name = form.replace(/-?local$/, "");
  if (form.startsWith("format:") || form.startsWith("format-local:")) {
    const local = form.startsWith("format-local:");
    const used = local ? zone(seconds * 1000).minutes : offset;
    return formatDate(form.slice(form.indexOf(":") + 1), seconds * 1000, () => ({
      minutes: used,
      name: used === 0 ? "UTC" : "",
    }));
  }
  switch (name) {
    case "":
    case "default":
    case "normal":
      return at("%a %b %-d %H:%M:%S %Y") + (isLocal ? "" : ` ${offsetText(offset)}`);
    case "iso":
    case "iso8601":
      return at("%Y-%m-%d %H:%M:%S") + ` ${offsetText(minutes)}`;
    case "iso-strict":
    case "iso8601-strict": {
      const text = offsetText(minutes);
      return at("%Y-%m-%dT%H:%M:%S") + `${text.slice(0, 3)}:${text.slice(3)}`;
    }
    case "rfc":
    case "rfc2822":
      return at("%a, %-d %b %Y %H:%M:%S") + ` ${offsetText(minutes)}`;
    case "short":
      return at("%Y-%m-%d");
    case "unix":
      return String(seconds);
    case "raw":
      return `${seconds} ${offsetText(minutes)}`;
    case "relative":
      return relativeText(Math.floor(Date.now() / 1000) - seconds);
    case "human":
      return refuse("the date format 'human'");
    default:
      return fatal(`unknown date format ${form}`);
  }
}

/** Returns how long ago something was, as git rounds it. */
export function relativeText(seconds: number): string {
  if (seconds < 0) return "in the future";
  const ago = (count: number, unit: string) => `${count} ${unit}${count === 1 ? "" : "s"} ago`;
  if (seconds < 90) return ago(seconds, "second");
  const minutes = Math.floor((seconds + 30) / 60);
  if (minutes < 90) return ago(minutes, "minute");
  const hours = Math.floor((minutes + 30) / 60);
  if (hours < 36) return ago(hours, "hour");
  const days = Math.floor((hours + 12) / 24);
  if (days < 14) return ago(days, "day");
  if (days < 70) return ago(Math.floor((days + 3) / 7), "week");
  if (days < 365) return ago(Math.floor((days + 15) / 30), "month");
  if (days < 1825) {
    const months = Math.floor((days * 12 * 2 + 365) / (365 * 2));
    const [years, rest] = [Math.floor(months / 12), months % 12];
    const head = `${years} year${years === 1 ? "" : "s"}`;
    return rest === 0 ? `${head} ago` : `${head}, ${ago(rest, "month")}`;
  }
  return ago(Math.floor((days + 183) / 365), "year");
}
