import * as z from "zod";
import { parseHostName, parseNetworkRule } from "../guest/network_rules.ts";
import { closedObject, flag, integer, string } from "./checks.ts";

/** Hosts that programs may connect to, and limits of the connections. */
export interface NetworkSettings {
  /**
   * Hosts with ports: `api.example.com:443`, or `*.example.org:443` for the names below `example.org`. Connections must
   * carry HTTP/1.1, with or without TLS. After `tcp://` they may carry any protocol.
   */
  readonly allow: readonly string[];
  /**
   * Methods that HTTP requests may have, such as `GET`.
   *
   * @default all
   */
  readonly methods?: readonly string[] | undefined;
  /**
   * Bytes that the connections of a session may carry in both directions until it is reset.
   *
   * @default 67_108_864
   */
  readonly maxBytes: number;
  /**
   * Number of connections of a session that are open at the same time.
   *
   * @default 64
   */
  readonly maxConnections: number;
  /**
   * Time in which a connection must be established, in milliseconds: the name, the address, and TLS, each.
   *
   * @default 10_000
   */
  readonly timeoutMs: number;
  /**
   * File to which each HTTP exchange is appended, as a line of JSON. Connections with `tcp://` and WebSocket are refused.
   *
   * @default nothing is recorded
   */
  readonly record?: string | undefined;
  /**
   * File with recorded exchanges, which answer the requests. Nothing is sent to a network, and a request that is not in
   * the file is refused.
   *
   * @default requests are sent to their hosts
   */
  readonly replay?: string | undefined;
  /**
   * Values that programs use and do not see, by the names of environment variables of the sandbox.
   *
   * @default none
   */
  readonly secrets?: Readonly<Record<string, NetworkSecret>> | undefined;
  /** Parts of requests that count in a file of exchanges, beside method and address. */
  readonly match: NetworkMatch;
}

/** A value that programs use and do not see. */
export interface NetworkSecret {
  /** Name of the host's environment variable with the value. */
  readonly env: string;
  /** Names of hosts that get the value, by HTTPS. */
  readonly hosts: readonly string[];
  /** Places of a request where the value replaces the placeholder: `header:authorization`, `query`. */
  readonly in: readonly string[];
}

/** Returns the text that programs have in place of a secret. */
export function placeholderOf(name: string): string {
  return `paddock-secret-${name}`;
}

/** Returns the environment variables of programs for a profile's secrets. */
export function placeholdersOf({ secrets = {} }: Pick<NetworkSettings, "secrets">): Record<string, string> {
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, placeholderOf(name)]));
}

/** Parts of a request that tell the request from others. */
export interface NetworkMatch {
  /**
   * Names of headers, in lower case. They are stored in the file.
   *
   * @default []
   */
  readonly headers: readonly string[];
  /**
   * True if what follows `?` in an address counts.
   *
   * @default true
   */
  readonly query: boolean;
  /**
   * True if bodies count.
   *
   * @default true
   */
  readonly body: boolean;
}

const MIB = 1024 * 1024;

const rule = string(
  "a host with a port, such as 'api.example.com:443', '*.example.org:443' or 'tcp://db.example.com:5432'; " +
    "addresses and names of this machine cannot be listed",
  (text) => parseNetworkRule(text) !== undefined,
);
const method = string("a method of HTTP in capitals, such as 'GET'", (text) => /^[A-Z]{1,20}$/.test(text));

const header = string(
  "the name of a header in lower case",
  (text) => /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/.test(text),
);
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;
const variable = string("the name of an environment variable", (text) => VARIABLE.test(text));
const host = string("the name of a host in lower case", (text) => parseHostName(text) === text);
const place = string(
  "'query', or 'header:' with the name of a header in lower case that is not part of the framing",
  (text) =>
    text === "query" ||
    /^header:(?!host$|content-length$|transfer-encoding$|connection$|upgrade$)[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/
      .test(text),
);
const secretSchema = closedObject({
  env: variable,
  hosts: z.array(host, { error: "must be a list of hosts" }).min(1, { error: "must name a host" }),
  in: z.array(place, { error: "must be a list of places" }).min(1, { error: "must name a place" }),
});
const path = string("a path", (text) => text !== "" && !text.includes("\0"));
const matchSchema = closedObject({
  headers: z.array(header, { error: "must be a list of headers" }).default([]),
  query: flag().default(true),
  body: flag().default(true),
});

/** Schema of the setting `network` of a profile. */
export const networkSchema: z.core.$ZodType<NetworkSettings> = closedObject({
  allow: z.array(rule, { error: "must be a list of hosts" }).min(1, { error: "must list a host" }),
  methods: z.array(method, { error: "must be a list of methods" }).optional(),
  maxBytes: integer(1, 1024 * 1024 * MIB).default(64 * MIB),
  maxConnections: integer(1, 256).default(64),
  timeoutMs: integer(1, 600_000).default(10_000),
  record: path.optional(),
  replay: path.optional(),
  secrets: z.record(variable, secretSchema, { error: "must be an object" }).optional(),
  match: z.prefault(matchSchema, {}),
}).check(z.refine(({ record, replay }) => record === undefined || replay === undefined, {
  error: "must have only one of 'record' and 'replay'",
}));
