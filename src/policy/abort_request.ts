import type { ModelServerOptions } from "./model_server.ts";
import { postJson } from "./post_json.ts";

/** Nobody waits long for a server to hear that it may stop. */
const TIMEOUT_MS = 5_000;

/**
 * Tells SGLang that the answer to a request is no longer wanted. Whether it hears that is its own affair: a server
 * that is gone samples no more either.
 */
export async function abortRequest(generate: URL, rid: string, options: ModelServerOptions): Promise<void> {
  const url = new URL(generate);
  url.pathname = url.pathname.replace(/\/generate$/, "/abort_request");
  const { apiKey, headers } = options;
  const all = { ...(apiKey && { authorization: `Bearer ${apiKey}` }), ...headers };
  await postJson(url, JSON.stringify({ rid }), { headers: all, timeoutMs: TIMEOUT_MS });
}
