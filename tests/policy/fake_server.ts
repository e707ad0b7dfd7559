/** A request that the server received. */
export interface SeenRequest {
  path: string;
  headers: Headers;
  /** The client's port, which identifies its connection. */
  port: number;
  // deno-lint-ignore no-explicit-any -- each test knows the body that it sends
  body: any;
}

/** An HTTP server on loopback that records its requests. */
export class FakeServer implements AsyncDisposable {
  readonly seen: SeenRequest[] = [];
  readonly url: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #end = new AbortController();

  constructor(
    answer: (request: SeenRequest, count: number, signal: AbortSignal) => Response | Promise<Response>,
    { port = 0 }: { port?: number } = {},
  ) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port, signal: this.#end.signal, onListen: () => {} },
      async (request, info) => {
        const seen = {
          path: new URL(request.url).pathname,
          headers: request.headers,
          port: info.remoteAddr.port,
          body: await request.json(),
        };
        this.seen.push(seen);
        return await answer(seen, this.seen.length, request.signal);
      },
    );
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  get port(): number {
    return this.#server.addr.port;
  }

  /** Ends the server with its connections, as if its process was killed. */
  async kill(): Promise<void> {
    this.#end.abort();
    await this.#server.finished;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** Creates the response of a chat completions server. */
export function completion(message: object, more: { finish_reason?: string } = {}): Response {
  const { finish_reason = "stop" } = more;
  return Response.json({
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [{
      index: 0,
      message: { role: "assistant", content: null, ...message },
      finish_reason,
      logprobs: null,
    }],
    usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
  });
}
