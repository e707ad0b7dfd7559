import { Hono } from "hono";
import { viewerApp, type ViewerOptions } from "../viewer/viewer_app.tsx";
import { access } from "./http/access.ts";
import { type AppEnv, watchDisconnect } from "./http/context.ts";
import { errorReporter, errorResponse, ServerError, toServerError } from "./http/http_errors.ts";
import type { RequestHandler } from "./http/http_server.ts";

/** Options of {@linkcode viewerServer}. */
export interface ViewerServerOptions extends ViewerOptions {
  /** Accepted host names, without ports: other names come from web pages that try DNS rebinding. */
  readonly hosts: readonly string[];
  /** Called with internal errors, which clients never see. */
  readonly onError: (error: unknown) => void;
}

/** Returns a server of the pages of runs alone. It accepts GET requests of the given host names. */
export function viewerServer({ hosts, onError, ...options }: ViewerServerOptions): RequestHandler {
  const report = errorReporter(onError);
  const app = new Hono<AppEnv>();
  app.onError((thrown) => {
    report(thrown);
    return errorResponse(toServerError(thrown));
  });
  app.use(watchDisconnect(), access({ hosts }), async (c, next) => {
    if (c.req.method !== "GET" && c.req.method !== "HEAD") {
      throw new ServerError("method_not_allowed", "The pages are read with GET", { allow: ["GET", "HEAD"] });
    }
    await next();
  });
  app.get("/", (c) => c.redirect("/runs", 302));
  app.route("/", viewerApp(options));
  return async (request, connection) => await app.fetch(request, connection);
}
