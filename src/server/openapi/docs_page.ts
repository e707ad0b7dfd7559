import { createRoute } from "@hono/zod-openapi";
import manifest from "swagger-ui-dist/package.json" with { type: "json" };
import * as z from "zod";
import { ServerError } from "../http/http_errors.ts";
import { type Api, failures } from "../v1/route.ts";

const tags = ["server"];
const text = (type: string) => ({ [type]: { schema: z.string() } });

const root = createRoute({
  operationId: "redirectToDocs",
  method: "get",
  path: "/",
  tags,
  summary: "Redirect to the page of the API",
  responses: {
    302: {
      description: "The page is at /docs",
      headers: { Location: { description: "Path of the page", schema: { type: "string" } } },
    },
  },
});

const docs = createRoute({
  operationId: "getDocs",
  method: "get",
  path: "/docs",
  tags,
  summary: "Show the API as a page that can send requests",
  responses: { 200: { description: "The page", content: text("text/html") } },
});

const docsFile = createRoute({
  operationId: "getDocsFile",
  method: "get",
  path: "/docs/{file}",
  tags,
  summary: "Get a file of the page",
  request: { params: z.object({ file: z.string().meta({ example: "start.js" }) }) },
  responses: {
    200: { description: "The file", content: { ...text("text/javascript"), ...text("text/css") } },
    ...failures("not_found"),
  },
});

/** Loads its files from this server only; Swagger UI sets styles and has icons as `data:` URLs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Paths are relative, so that the page works behind a proxy with a path of its own. */
const PAGE = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Paddock API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css?v=${manifest.version}">
</head>
<body>
<noscript>This page needs JavaScript. The API is described by <a href="openapi.json">openapi.json</a>.</noscript>
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js?v=${manifest.version}"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#api",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

/** A file of the page. */
interface PageFile {
  readonly type: "text/javascript" | "text/css";
  readonly read: () => Promise<Uint8Array<ArrayBuffer>>;
}

const FILES: Readonly<Record<string, PageFile>> = {
  "start.js": { type: "text/javascript", read: () => Promise.resolve(new TextEncoder().encode(START)) },
  "swagger-ui-bundle.js": {
    type: "text/javascript",
    read: () => readUrl(import.meta.resolve("swagger-ui-dist/swagger-ui-bundle.js")),
  },
  "swagger-ui.css": {
    type: "text/css",
    read: () => readUrl(import.meta.resolve("swagger-ui-dist/swagger-ui.css")),
  },
};

function readUrl(url: string): Promise<Uint8Array<ArrayBuffer>> {
  return Deno.readFile(new URL(url));
}

/**
 * Adds the page of the API: Swagger UI, whose files come from its npm package and are read at their first request. The
 * page needs no token; the requests that it sends do.
 */
export function addDocsRoutes(app: Api): void {
  const files = new Map<string, ReturnType<PageFile["read"]>>();
  app.openapi(root, (c) => c.redirect("/docs", 302)); // for people who open the address that `paddock serve` prints
  app.openapi(docs, (c) => c.html(PAGE, 200, { "content-security-policy": POLICY }));
  app.openapi(docsFile, async (c) => {
    const { file: name } = c.req.valid("param");
    const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
    if (file === undefined) throw new ServerError("not_found", "The page has no such file");
    const contents = await files.getOrInsertComputed(name, file.read);
    return c.body(contents, 200, {
      "content-type": `${file.type}; charset=utf-8`,
      "cache-control": "max-age=86400",
    });
  });
}
