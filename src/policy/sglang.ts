import type { History } from "../history.ts";
import type { ToolSpec } from "../tool_spec.ts";
import { abortRequest } from "./abort_request.ts";
import { ModelServer, type ModelServerOptions } from "./model_server.ts";
import type { Policy, Reply, ReplyContext } from "./policy.ts";
import { serverUrl } from "./server_url.ts";
import { sglangReply } from "./sglang_reply.ts";

/** Which server answers, how it is asked, and how it samples. */
export interface SglangPolicyOptions extends Omit<ModelServerOptions, "retryOn"> {
  /** The server or the router, such as `http://127.0.0.1:30000`, or its `/generate`. */
  url: string | URL;
  /** What trajectories call it; `sglang` unless given. */
  model?: string | undefined;
  /** Writes a conversation as the model reads it, where the env gives neither text nor token ids. */
  render?: ((history: History, tools: readonly ToolSpec[]) => string) | undefined;
  /** As SGLang names them: `{ temperature: 1, max_new_tokens: 512, … }`. */
  samplingParams?: Readonly<Record<string, unknown>> | undefined;
  /** Asks for the log-probability of each token; true unless given. Without it there may be no token ids. */
  returnLogProb?: boolean | undefined;
  /**
   * Which form of the env's prompt is sent where it gives both; `ids` unless given. Servers add nothing to ids,
   * and may tokenise `text` in their own way.
   */
  input?: "ids" | "text" | undefined;
  /** Taken once off the end of a reply; `<|im_end|>` unless given. */
  endOfTurn?: string | undefined;
}

/**
 * A policy behind SGLang's own `/generate`: the ids that it sampled come back with the text.
 *
 * It sends the env's token ids where there are some, else the env's text, else what `render` writes. Calls of
 * tools stay in the text, where a transform reads them.
 *
 * Only a connection that fails is tried again: what a server answers is its answer. When the context's signal is
 * aborted the server is told through `/abort_request`, so that it samples no more of a reply that nobody wants;
 * that is why a request with a signal has an id, `rid`.
 *
 * @throws {TypeError} when the url is none of http or https.
 * @throws {RangeError} when a limit cannot be kept.
 */
export function sglangPolicy(options: SglangPolicyOptions): Policy {
  const { url, model = "sglang", samplingParams = {}, returnLogProb = true, endOfTurn = "<|im_end|>" } =
    options;
  const endpoint = serverUrl(url, "/generate");
  const server = new ModelServer(endpoint, { ...options, retryOn: "connection" });
  return {
    name: model,
    async reply(history, context): Promise<Reply> {
      const { signal } = context;
      const request = {
        ...promptOf(history, context, options),
        sampling_params: samplingParams,
        ...(returnLogProb && { return_logprob: true }),
      };
      const answer = await answerOf(server, { endpoint, request, signal, options });
      try {
        return sglangReply(answer, { endOfTurn });
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        throw server.badAnswer(`must answer as /generate does: ${error.message}`);
      }
    },
  };
}

interface Asked {
  readonly endpoint: URL;
  readonly request: object;
  readonly signal: AbortSignal | undefined;
  readonly options: SglangPolicyOptions;
}

/** The server's answer; a server that was asked and is no longer to answer is told so. */
async function answerOf(
  server: ModelServer,
  { endpoint, request, signal, options }: Asked,
): Promise<unknown> {
  if (signal === undefined) return await server.post(request);
  const rid = crypto.randomUUID();
  const onAborted = () => abortRequest(endpoint, rid, options);
  return await server.post({ ...request, rid }, { signal, onAborted });
}

function promptOf(history: History, context: ReplyContext, options: SglangPolicyOptions): object {
  const { tokens, text, tools = [] } = context;
  const { render, input = "ids" } = options;
  if (tokens !== undefined && (input === "ids" || text === undefined)) return { input_ids: tokens };
  if (text !== undefined) return { text };
  if (render !== undefined) return { text: render(history, tools) };
  throw new TypeError(
    "Cannot ask SGLang as the env must give text or token ids, or the policy have 'render': there is neither",
  );
}
