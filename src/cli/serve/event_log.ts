import { type DroppedLines, LineLog } from "../../server/http/line_log.ts";
import type { ServerEvent } from "../../server/server_event.ts";
import { currentIo } from "../io.ts";
import { logError } from "./listening.ts";

/** Values of `--log-level`. Each level also shows the lines of earlier levels. */
export const LOG_LEVELS = ["error", "warn", "info"] as const;
/** Amount that a server logs on stderr. */
export type LogLevel = typeof LOG_LEVELS[number];

/** Level of each kind of event. Errors are logged at every level. */
const LEVELS: Readonly<Record<ServerEvent["kind"], LogLevel>> = {
  "interpreter lost": "warn",
  "session opened": "info",
  "session ended": "info",
  "session saved": "info",
  "request refused": "info",
};

/** Characters of an owner, the hash of a token, as in the access log. */
const OWNER_CHARACTERS = 16;

/** An event with the time of the event. */
interface LoggedEvent {
  readonly time: string;
  readonly event: ServerEvent;
}

/** Returns a function that writes the events of a level to stderr, a line each. */
export function openEventLog(level: LogLevel, stack: AsyncDisposableStack): (event: ServerEvent) => void {
  const { stderr } = currentIo();
  const log = stack.use(
    new LineLog<LoggedEvent>({
      write: (bytes) => stderr.write(bytes),
      format: formatLine,
      onError: logError,
    }),
  );
  const shown = LOG_LEVELS.indexOf(level);
  return (event) => {
    if (LOG_LEVELS.indexOf(LEVELS[event.kind]) > shown) return;
    log.write({ time: new Date().toISOString(), event });
  };
}

/** Returns a line such as `2026-01-31T09:00:00.000Z info session opened session=0f3a… owner=`. */
function formatLine(entry: LoggedEvent | DroppedLines): string {
  if ("dropped" in entry) return `${entry.dropped} lines of the log were dropped`;
  const { time, event: { kind, ...fields } } = entry;
  const parts = Object.entries(fields).map(([name, value]) => `${name}=${formatValue(name, value)}`);
  return [time, LEVELS[kind], kind, ...parts].join(" ");
}

function formatValue(name: string, value: string | number): string {
  if (typeof value === "number") return String(Math.round(10 * value) / 10);
  if (name === "owner") return value.slice(0, OWNER_CHARACTERS) || "-";
  return value;
}
