import { viewerServer } from "../../server/viewer_server.ts";
import { HttpServer } from "../../server/http/http_server.ts";
import { RunFolder } from "../../viewer/run_folder.ts";
import { EXIT } from "../command.ts";
import { UsageError } from "../errors.ts";
import { requireReadable, resolveTokenizer, STDIN } from "../input.ts";
import { currentIo } from "../io.ts";
import { writeText } from "../output.ts";
import { listenError, logError, waitForAbort } from "../serve/listening.ts";
import { LOOPBACK_NAMES } from "../serve/address.ts";

/** Options of `view --web`. */
export interface WebFlags {
  port: number;
  tokenizer?: string;
}

const HOSTNAME = "127.0.0.1";

/**
 * Serves the pages of a folder of runs, or of one file, until the signal is aborted. Only programs of this machine can
 * connect.
 *
 * @throws {UsageError} if the path is stdin or does not exist, or the tokenizer cannot be read.
 */
export async function serveViewer(path: string, flags: WebFlags, signal: AbortSignal): Promise<number> {
  if (path === STDIN) throw new UsageError("Cannot show stdin in a browser: give a file or a folder");
  await requireReadable(path, { mayBeFolder: true });
  const folder = await RunFolder.open(path);
  const tokenizer = await resolveTokenizer(flags.tokenizer);
  const handler = viewerServer({ folder, tokenizer, signal, hosts: LOOPBACK_NAMES, onError: logError });
  const { port } = flags;
  const options = { hostname: HOSTNAME, port, onError: logError, onGraceOver: () => Promise.resolve() };
  const listening = HttpServer.listen(handler, options);
  await using server = await listening.catch((cause) => {
    throw listenError(`http://${HOSTNAME}:${port}`, cause);
  });
  await writeText(
    currentIo().stderr,
    `Viewing at http://${HOSTNAME}:${server.port}/runs; press Ctrl-C to stop\n`,
  );
  await waitForAbort(signal);
  return EXIT.ok;
}
