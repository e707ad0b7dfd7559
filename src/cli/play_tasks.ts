import { EXIT } from "./exit_code.ts";
import { TaskRun, type TaskRunOptions } from "./task_run.ts";
import { writeText } from "./write_text.ts";

/**
 * Plays the tasks of a file and prints what came of it. The episodes of one task stand together in what is
 * printed; a file holds them in the order in which they ended.
 *
 * Gives the exit code: 0, 1 when an episode failed at a boundary, 2 when the tasks cannot be read, 74 when an
 * episode cannot be written, 130 when it was interrupted.
 */
export async function playTasks(options: TaskRunOptions): Promise<number> {
  const { json, stdout, stderr, summary } = options;
  try {
    const run = new TaskRun(options);
    const stopped = await run.play();
    if (stopped !== EXIT.usage || summary.episodes > 0) {
      await writeText(json ? stderr : stdout, run.table.format() + summary.formatTable());
    }
    return stopped || (summary.failed > 0 ? EXIT.error : EXIT.ok);
  } catch (error) {
    // Whoever read the output wants no more of it.
    if (error instanceof Deno.errors.BrokenPipe) return EXIT.ok;
    throw error;
  }
}
