import type { MiddlewareHandler } from "hono";
import { type AppEnv, methodOf, routeOf } from "./context.ts";

/** A request and the response, without a token, a path, a body or an address. */
export interface RequestRecord {
  /** Time of the request, in ISO 8601. */
  readonly time: string;
  /** Method; `other` for a method that HTTP does not define. */
  readonly method: string;
  /** Template of the route, such as `/v1/sessions/{id}`; `other` if there is none. */
  readonly route: string;
  readonly status: number;
  /** Milliseconds until the response was sent. */
  readonly ms: number;
  /** Bytes of the response that were sent, with the head; without a socket, the number that the headers state. */
  readonly bytes: number;
  /** Start of the hash of the token; the empty string without a valid token. */
  readonly owner: string;
}

const OWNER_CHARACTERS = 16;

/** Calls back after each response. */
export function accessRecords(onRequest: (record: RequestRecord) => void): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const time = new Date().toISOString();
    const start = performance.now();
    await next();
    const { status, headers } = c.res;
    const owner = (c.get("owner") ?? "").slice(0, OWNER_CHARACTERS);
    const labels = { method: methodOf(c), route: routeOf(c) };
    const report = (bytes: number) => {
      const ms = Math.round(10 * (performance.now() - start)) / 10;
      onRequest({ time, ...labels, status, ms, bytes, owner });
    };
    if (c.env?.whenSent) c.env.whenSent(report);
    else report(Number(headers.get("content-length") ?? 0));
  };
}
