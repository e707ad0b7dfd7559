import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextKey,
  createContextValues,
} from "@connectrpc/connect";
import {
  universalServerRequestFromFetch,
  universalServerResponseToFetch,
} from "@connectrpc/connect/protocol";
import { Hono } from "hono";
import { basicCredentials } from "../../../http/access.ts";
import type { AppEnv } from "../../../http/context.ts";
import { ServerError } from "../../../http/http_errors.ts";
import { isStream } from "../../../http/response_stream.ts";
import { SandboxGoneError } from "../e2b_errors.ts";
import type { E2bSandbox, E2bSandboxes } from "../sandboxes.ts";
import { toConnectError } from "./connect_error.ts";
import { Filesystem } from "./filesystem_pb.ts";
import { type EnvdCall, filesystemService } from "./filesystem.ts";
import { Process } from "./process_pb.ts";
import { processService } from "./process.ts";

/** Bytes of a message of a client. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

const callKey = createContextKey<EnvdCall | undefined>(undefined);

/** Serves the services `filesystem` and `process` of E2B's agent by the Connect protocol. */
export function rpcRoutes(sandboxes: E2bSandboxes): Hono<AppEnv> {
  const router = createConnectRouter({
    grpc: false,
    grpcWeb: false,
    acceptCompression: [],
    readMaxBytes: MAX_MESSAGE_BYTES,
    interceptors: [(next) => async (request) => {
      try {
        return await next(request);
      } catch (error) {
        throw toConnectError(error);
      }
    }],
  });
  router.service(Filesystem, filesystemService(({ values }) => callOf(values.get(callKey))));
  router.service(Process, processService(({ values }) => callOf(values.get(callKey))));
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const app = new Hono<AppEnv>();
  app.on("POST", ["/filesystem.Filesystem/*", "/process.Process/*"], async (c) => {
    const handler = handlers.get(c.req.path);
    if (handler === undefined) throw new ServerError("not_found", "There is no such method");
    const sandbox = sandboxes.named(c);
    if (sandbox === undefined) throw new ServerError("malformed", "The header 'E2b-Sandbox-Id' is required");
    const { url, headers } = c.req.raw;
    const request = new Request(url, { method: "POST", headers, body: await c.req.arrayBuffer() });
    const user = basicCredentials(headers)?.name ?? "";
    const ended = new AbortController();
    const response = await handler({
      ...universalServerRequestFromFetch(request, { httpVersion: "1.1" }),
      signal: AbortSignal.any([c.get("signal"), ended.signal]),
      contextValues: createContextValues().set(callKey, { sandbox, user, memory: c.get("memory") }),
    });
    return toStreamed(universalServerResponseToFetch(response), { sandbox, onCancel: () => ended.abort() });
  });
  return app;
}

function callOf(call: EnvdCall | undefined): EnvdCall {
  if (call) return call;
  throw new ConnectError("the call has no sandbox", Code.Internal);
}

interface StreamOptions {
  readonly sandbox: E2bSandbox;
  /** Called when the client disconnects. */
  readonly onCancel: () => void;
}

/**
 * Returns a response that breaks when the sandbox ends, as a connection to E2B does: clients then ask whether the
 * sandbox still runs.
 */
function toStreamed(response: Response, { sandbox, onCancel }: StreamOptions): Response {
  if (response.body === null || !isStream(response)) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (sandbox.session.ended) throw new SandboxGoneError(sandbox.id);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      onCancel();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return new Response(body, { status: response.status, headers: response.headers });
}
