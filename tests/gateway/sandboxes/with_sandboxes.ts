import { loadProfile, SandboxPool } from "../../../mod.ts";
import type { GatewayOptions } from "../../../src/gateway/gateway_options.ts";
import { isGatewayPath } from "../../../src/gateway/app.ts";
import { hiddenTests } from "../../../src/rewards/hidden_tests.ts";
import { numberMatch } from "../../../src/rewards/text_match.ts";
import { GraderPool } from "../../../src/rewards/worker/grader_pool.ts";
import { PaddockServer, partsOf } from "../../../src/server/paddock_server.ts";
import { type Opened, OTHER_TOKEN, TestGateway, TOKEN } from "../open_gateway.ts";
import type { Script } from "../scripted_model.ts";

// Interpreters that serve several tests outlive the test that starts them.
Deno.test.sanitizer({ ops: false, resources: false });

let shared: Promise<SandboxPool> | undefined;

Deno.test.afterAll(async () => {
  await (await shared)?.[Symbol.asyncDispose]();
});

const SIZE = 4;

async function makePool(): Promise<SandboxPool> {
  return new SandboxPool({ profile: await loadProfile("tools"), size: SIZE, resetMode: "owner" });
}

/** A session with a sandbox, as its owner sees it. */
export interface OpenedSandbox extends Opened {
  readonly sandbox: { readonly id: string; readonly e2b_id: string; readonly e2b_api_key: string };
}

/** A gateway beside a server, as 'paddock serve' has them. */
export class GatewayWithSandboxes implements AsyncDisposable {
  readonly test: TestGateway;
  readonly #stack: AsyncDisposableStack;

  constructor(test: TestGateway, stack: AsyncDisposableStack) {
    this.test = test;
    this.#stack = stack;
  }

  static async start(
    script: Script = () => "It is done.",
    options: Partial<GatewayOptions> = {},
  ): Promise<GatewayWithSandboxes> {
    const pool = await (shared ??= makePool());
    await using stack = new AsyncDisposableStack();
    const graderPool = stack.use(new GraderPool());
    const server = stack.use(
      new PaddockServer({ pool, maxSessions: SIZE, tokens: [TOKEN, OTHER_TOKEN], waitMs: 20_000 }),
    );
    const { sandboxes: service, metrics } = partsOf(server);
    const sandboxes = { service, profile: "tools" };
    const graders = new Map([
      ["number_match", () => numberMatch()],
      ["hidden_tests", () => hiddenTests({ pool })],
    ]);
    const test = stack.use(new TestGateway(script, { sandboxes, metrics, graders, graderPool, ...options }));
    const { fetch } = test;
    Object.assign(test, {
      fetch: (request: Request) =>
        isGatewayPath(new URL(request.url).pathname) ? fetch(request) : server.fetch(request),
    });
    return new GatewayWithSandboxes(test, stack.move());
  }

  async open(more: object = {}): Promise<OpenedSandbox> {
    const opened = await this.test.open({ sandbox: { profile: "tools" }, ...more });
    return opened as OpenedSandbox;
  }

  /** Runs a program in a sandbox by a key, and returns the value or the status of the response. */
  async run(id: string, code: string, key: string): Promise<string | number> {
    const response = await this.test.send(`/v1/sessions/${id}/exec`, { code }, { key });
    const { value, status } = await response.json();
    return response.status === 200 ? value ?? status : response.status;
  }

  async reward({ id }: Opened, body: object): Promise<Response> {
    return await this.test.send(`/v1/gateway/sessions/${id}/reward`, body);
  }

  async ask({ key }: Pick<Opened, "key">): Promise<void> {
    const body = { model: "m", messages: [{ role: "user", content: "Do it." }] };
    await (await this.test.send("/v1/chat/completions", body, { key })).text();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }
}
