import type { Call } from "./calls.ts";

/** A client generator for TypeScript. */
export interface TypeScriptClient {
  readonly name: string;
  /** Arguments of `deno run` that generate the client from `openapi.json`. */
  readonly generate: readonly string[];
  /** Returns a program that makes the calls. Its types are checked before it runs. */
  readonly program: (calls: readonly Call[]) => string;
}

/** npm packages of the generators, of the client and of the linter, with their versions. */
export const NPM_PACKAGES: Readonly<Record<string, string>> = {
  "@hey-api/openapi-ts": "0.99.0",
  "@redocly/cli": "2.77.0",
  "openapi-fetch": "0.17.0",
  "openapi-typescript": "7.13.0",
  typescript: "5.9.3",
};

/** The client generators. */
export const TYPESCRIPT_CLIENTS: readonly TypeScriptClient[] = [
  {
    name: "openapi-typescript",
    generate: ["npm:openapi-typescript", "openapi.json", "-o", "openapi_types.ts"],
    program: (calls) =>
      programOf(calls, {
        head: `import createClient from "openapi-fetch";
import type { paths } from "./openapi_types.ts";

const { url: baseUrl, token } = checks;
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });`,
        send: openApiFetchCall,
      }),
  },
  {
    name: "@hey-api/openapi-ts",
    generate: ["npm:@hey-api/openapi-ts", "-i", "openapi.json", "-o", "hey_api"],
    program: (calls) =>
      programOf(calls, {
        head: `import { client } from "./hey_api/client.gen";
import * as sdk from "./hey_api/sdk.gen";

client.setConfig({ baseUrl: checks.url, auth: checks.token });

interface Events {
  sseMaxRetryAttempts: number;
  fetch: typeof fetch;
}

/** Reads a stream of events to its end. */
async function readEvents(open: (options: Events) => Promise<{ stream: AsyncGenerator<unknown> }>) {
  let response: Response | undefined;
  const recorded: typeof fetch = async (...request) => response = await fetch(...request);
  const { stream } = await open({ sseMaxRetryAttempts: 1, fetch: recorded });
  const data: unknown[] = [];
  for await (const event of stream) data.push(event);
  return { data, response };
}`,
        send: heyApiCall,
      }),
  },
];

function programOf(
  calls: readonly Call[],
  { head, send }: { head: string; send: (call: Call) => string },
): string {
  const runs = calls.map((call) => {
    const { operationId, statuses, fixture } = call;
    const about = `operationId: "${operationId}", statuses: ${JSON.stringify(statuses)}`;
    return `await checks.run({ ${about}, fixture: ${JSON.stringify(fixture)}, send: (id) => ${
      send(call)
    } });`;
  });
  return `import { Checks } from "./harness.ts";

const checks = new Checks();
${head}

${runs.join("\n")}
const { text, code } = checks.finish();
console.log(text);
Deno.exit(code);
`;
}

function openApiFetchCall(call: Call): string {
  const { method, path, query, body, types } = call;
  const params = { path: pathOf(call), query: textOf(query), header: headersOf(call) };
  const options = [
    `params: ${objectOf(params)}`,
    ...types.includes("application/json") ? [] : [`parseAs: "text"`],
    ...body === undefined ? [] : [`body: ${JSON.stringify(body)}`],
  ];
  return `client.${method}("${path}", { ${options.join(", ")} })`;
}

function heyApiCall(call: Call): string {
  const { operationId, query, body, types } = call;
  const options = {
    path: pathOf(call),
    query: textOf(query),
    headers: headersOf(call),
    body: JSON.stringify(body),
  };
  const isStream = types.length === 1 && types[0] === "text/event-stream";
  if (!isStream) return `sdk.${operationId}(${objectOf(options)})`;
  return `readEvents((events) => sdk.${operationId}(${objectOf({ ...options, "...events": "" })}))`;
}

/** Returns the expression of the path's parameters; \`id\` is that of the fixture. */
function pathOf({ idName, pathParams }: Call): string | undefined {
  const fixed = Object.entries(pathParams).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const all = [...fixed, ...idName === undefined ? [] : [`${idName}: id`]];
  return all.length === 0 ? undefined : `{ ${all.join(", ")} }`;
}

/** Returns the expression of the headers. */
function headersOf({ idHeader }: Call): string | undefined {
  return idHeader && `{ "${idHeader}": id }`;
}

function textOf(query: Call["query"]): string | undefined {
  return Object.keys(query).length === 0 ? undefined : JSON.stringify(query);
}

function objectOf(parts: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parts).filter(([, text]) => text !== undefined);
  return given.length === 0
    ? "{}"
    : `{ ${given.map(([name, text]) => name.startsWith("...") ? name : `${name}: ${text}`).join(", ")} }`;
}
