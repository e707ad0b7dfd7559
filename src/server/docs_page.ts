import { html } from "hono/html";

/** Parts of an OpenAPI document that its page shows. */
export interface ApiDocument {
  readonly paths?: Readonly<Record<string, unknown>> | undefined;
  readonly components?: { readonly schemas?: unknown } | undefined;
}

const METHODS = ["get", "post", "delete"];

/** Renders an API as an HTML page without scripts and without external resources. */
export function renderDocsPage(document: ApiDocument): ReturnType<typeof html> {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item ?? {})
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation }))
  );
  return html`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Paddock</title>
<style>
body { font: 16px system-ui; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
pre { background: #f4f4f4; padding: 1rem; overflow: auto }
</style>
<h1>Paddock</h1>
<p>Schema: <a href="/openapi.json">openapi.json</a></p>
${operations.map(({ name, operation }) => details(`${name} · ${operation.summary ?? ""}`, operation))}
${details("Schemas", document.components?.schemas)}
</html>`;
}

function details(summary: string, value: unknown): ReturnType<typeof html> {
  return html`
    <details>
      <summary>${summary}</summary>
      <pre>${JSON.stringify(value, null, 2)}</pre>
    </details>
  `;
}
