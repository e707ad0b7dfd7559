/** What a server answered. */
export interface Answered<Body> {
  readonly status: number;
  /** `undefined` where it is no JSON. */
  readonly body: Body | undefined;
}

/** One connection to a server, kept open from one request to the next. */
export class Connection implements Disposable {
  readonly #url: string;
  readonly #client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });

  constructor(url: string) {
    this.#url = url;
  }

  /** Posts a body as JSON. Rejects when the connection breaks. */
  async post<Body>(path: string, body: object, signal?: AbortSignal): Promise<Answered<Body>> {
    const response = await fetch(this.#url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      client: this.#client,
      ...(signal && { signal }),
    });
    const text = await response.text();
    return { status: response.status, body: parsed(text) as Body | undefined };
  }

  /** Closes it. */
  [Symbol.dispose](): void {
    this.#client.close();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a server that fails may say anything
  }
}
