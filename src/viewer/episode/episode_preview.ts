import { type Message, messageText } from "../../message.ts";
import { parseRowBytes, readFileRange } from "../index/run_index.ts";
import type { OpenRun } from "../run_store.ts";

/** Beginnings of the texts of an episode, for a list. */
export interface EpisodePreview {
  /** First message of the user. */
  readonly question: string;
  /** Last message of the assistant. */
  readonly reply: string;
  /** Answer of the task, if the task has an answer. */
  readonly answer: string | undefined;
}

/** Bytes of the rows of a page that are read. Further rows have no preview. */
const MAX_BYTES = 8 * 1024 * 1024;
const SHOWN_CHARACTERS = 300;

/** Reads the beginnings of the texts of rows. Rows that are too long, or no episodes, are left out. */
export async function previewRows(
  { table: { columns }, file }: OpenRun,
  rows: Uint32Array,
): Promise<Map<number, EpisodePreview>> {
  const previews = new Map<number, EpisodePreview>();
  using open = await Deno.open(file.path);
  let bytes = 0;
  for (const row of rows) {
    const length = columns.length[row] ?? 0;
    if (bytes + length > MAX_BYTES) continue;
    bytes += length;
    const preview = toPreview(await readFileRange(open, { offset: columns.offset[row] ?? 0, length }));
    if (preview !== undefined) previews.set(row, preview);
  }
  return previews;
}

function toPreview(bytes: Uint8Array): EpisodePreview | undefined {
  try {
    const { messages, task } = parseRowBytes(bytes) as {
      messages: readonly Message[];
      task?: { answer?: unknown };
    };
    const answer = task?.answer;
    return {
      question: beginningOf(messages.find(({ role }) => role === "user")),
      reply: beginningOf(messages.findLast(({ role }) => role === "assistant")),
      answer: typeof answer === "string" ? answer.slice(0, SHOWN_CHARACTERS) : undefined,
    };
  } catch {
    return undefined; // a damaged row, or messages of another form: the list has no preview of such a row
  }
}

function beginningOf(message: Message | undefined): string {
  const text = message === undefined ? "" : messageText(message);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
