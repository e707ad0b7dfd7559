import type { FoundColumns } from "../../datasets/columns.ts";
import { findDatasetFiles } from "../../datasets/files.ts";
import { FIRST_ROWS, readTasks, type ReadTasksOptions } from "../../datasets/read_tasks.ts";
import type { Task } from "../../task.ts";
import { escapeControls } from "../../terminal_text.ts";
import { toUsageError, UsageError } from "../cli_errors.ts";
import { requireReadable } from "../input.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";
import { emptyTasksError, UNREADABLE } from "./task_run.ts";

/**
 * Checks that there is a task, and that the first rows have the columns of a task, before the file of an earlier run is
 * touched. A source that can be read only once, such as a pipe, is checked after the play.
 *
 * @throws {UsageError} if the tasks cannot be read, there is no task, or the grader needs an answer that another column
 * may have.
 */
export async function requireTasks(
  path: string,
  { answerReader, ...options }: ReadTasksOptions & { answerReader: string | undefined },
): Promise<void> {
  await requireReadable(path, { mayBeFolder: true });
  const { isFile, isDirectory } = await Deno.stat(path);
  if (!isFile && !isDirectory) return;
  const limit = Math.min(options.limit ?? FIRST_ROWS, FIRST_ROWS);
  const found: FoundColumns[] = [];
  const onFound = (columns: FoundColumns) => void found.push(columns);
  const first: Task[] = [];
  try {
    for await (const task of readTasks(path, { ...options, limit, onFound, onFault: () => {} })) {
      first.push(task);
    }
  } catch (error) {
    throw toUsageError(error, { kinds: UNREADABLE });
  }
  if (first.length === 0) throw emptyTasksError(path);
  const [columns] = found;
  if (columns === undefined) return;
  const reader = first.every(({ answer }) => answer === undefined) ? answerReader : undefined;
  if (reader !== undefined && columns.others.length > 0) {
    throw new UsageError(
      `Cannot score tasks of '${path}' as grader '${reader}' needs their answers: found ` +
        `[${columns.others.join(", ")}] beside the query; give --answer-field NAME, or --grader none`,
    );
  }
  await announceColumns(columns, reader);
}

/** Prints the columns that were found by their names or by options, as another column may be meant. */
async function announceColumns({ query, answer }: FoundColumns, reader: string | undefined): Promise<void> {
  const from = answer === undefined ? "no answer" : `answer from '${answer}'`;
  const unscored = reader === undefined ? "" : `; without answers, grader '${reader}' gives no scores`;
  const text = `Columns: query from '${query}', ${from}${unscored}\n`;
  await writeText(currentIo().stderr, escapeControls(text)).catch(() => {}); // stderr is closed
}

/** Prints the names of the files of a folder to stderr. */
export async function announceFiles({ tasks, split }: { tasks?: string; split?: string }): Promise<void> {
  if (tasks === undefined || !(await Deno.stat(tasks)).isDirectory) return;
  const files = await findDatasetFiles(tasks, { split }).catch(() => []); // reported when the tasks are read
  if (files.length === 0) return;
  await writeText(currentIo().stderr, `Playing ${escapeControls(files.join(", "))}\n`).catch(() => {}); // stderr is closed
}
