import { Code, ConnectError } from "@connectrpc/connect";
import { Hono } from "hono";
import type { Account } from "../../admission/budget.ts";
import type { AppContext, AppEnv } from "../../http/context.ts";
import { ServerError } from "../../http/http_errors.ts";
import { REQUEST_LIMITS } from "../../limits.ts";
import { MAX_FILES } from "../../../wire/limits.ts";
import type { WrittenFile } from "./contract.ts";
import type { GuestEntry } from "./envd/guest_files.ts";
import { grantOf } from "./sandbox_access.ts";
import type { E2bSandbox, E2bSandboxes } from "./sandboxes.ts";
import { fileQueryOf, toHomePath, toUserPath } from "./signed_files.ts";

/** Bytes of the names and values of a file's metadata, each name with the prefix of the attribute. */
const MAX_METADATA_BYTES = 4096;
const PREFIX = "x-metadata-";
const ATTRIBUTE = "user.e2b.";
/** Files with metadata of a sandbox. */
const MAX_FILES_WITH_METADATA = 1024;

/**
 * Serves `/files` of E2B's agent: reads a file, and writes files of a form or a file of a body. A request with a signature
 * has the operation and the path that were signed.
 */
export function fileRoutes(sandboxes: E2bSandboxes): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.get("/files", async (c) => {
    const sandbox = target(c);
    const { path, user } = fileQueryOf(c);
    const contents = await sandbox.files.read(toUserPath(path, user)).catch(throwFileError);
    const headers = { "content-type": "application/octet-stream", "content-disposition": attachment(path) };
    const body = new Uint8Array(contents);
    const accepted = c.req.header("accept-encoding")?.split(",").map((one) => one.trim().toLowerCase()) ?? [];
    if (!accepted.includes("gzip") || accepted.length > 1) return c.body(body, 200, headers);
    const packed = new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
    return c.body(await new Response(packed).bytes(), 200, { ...headers, "content-encoding": "gzip" });
  });
  app.post("/files", async (c) => {
    const sandbox = target(c);
    const metadata = metadataOf(c);
    const entries = await sandbox.files.write(await filesOf(c)).catch(throwFileError);
    for (const { path } of entries) setMetadata(sandbox, path, metadata);
    return c.json(entries.map((entry) => writtenBody(sandbox, entry)));
  });
  return app;

  function target(c: AppContext): E2bSandbox {
    const sandbox = sandboxes.named(c);
    if (sandbox) return sandbox;
    throw new ServerError(
      "malformed",
      "A request to /files must name a sandbox: send the header 'E2b-Sandbox-Id'",
    );
  }
}

/** Returns the header by which a browser saves a file under the file's name, in the form of RFC 6266. */
function attachment(path: string): string {
  const name = path.split("/").at(-1) ?? "";
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}

/** Returns the files of a body: the files of a form, or the body as a file. */
async function filesOf(c: AppContext): Promise<{ path: string; contents: Uint8Array }[]> {
  const { path, user } = fileQueryOf(c);
  const type = c.req.header("content-type") ?? "";
  const body = await unpack(c, await c.req.arrayBuffer());
  if (!/^multipart\/form-data/i.test(type)) {
    if (!path) throw new ServerError("malformed", "The query must have the path of the file");
    return [{ path: toUserPath(path, user), contents: body }];
  }
  const form = await new Response(body, { headers: { "content-type": type } }).formData().catch((cause) => {
    throw new ServerError("malformed", "The body must be a form", { cause });
  });
  const files = form.getAll("file").map((value) => value instanceof File ? value : toUnnamedFile(value));
  if (files.length === 0 || files.length > MAX_FILES) {
    throw new ServerError("malformed", `The form must have 1 to ${MAX_FILES} files: found ${files.length}`);
  }
  if (path && files.length > 1) {
    throw new ServerError("malformed", `A form for one path must have 1 file: found ${files.length}`);
  }
  if (!path && files.some(({ name }) => name === "")) {
    throw new ServerError("malformed", "The query or the form must have the name of the file");
  }
  const toPath = (name: string) => grantOf(c)?.isSigned ? toHomePath(name, user) : toUserPath(name, user);
  return await Promise.all(files.map(async (file) => ({
    path: path ? toUserPath(path, user) : toPath(file.name),
    contents: new Uint8Array(await file.arrayBuffer()),
  })));
}

/** Returns a field of a form that has no file name, and so is decoded as text. The URL must have its path. */
function toUnnamedFile(text: string): File {
  if (!text.includes("\ufffd")) return new File([text], "");
  throw new ServerError("malformed", "A file of the form without a name must be UTF-8: give it a name");
}

/** Unpacks a compressed body. The bytes count as waiting data, and are bounded like a body. */
async function unpack(c: AppContext, body: ArrayBuffer): Promise<Uint8Array<ArrayBuffer>> {
  if (c.req.header("content-encoding")?.toLowerCase() !== "gzip") return new Uint8Array(body);
  const memory: Account = c.get("memory");
  using lease = memory.take(0);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  try {
    for await (const piece of new Blob([body]).stream().pipeThrough(new DecompressionStream("gzip"))) {
      bytes += piece.length;
      if (bytes > REQUEST_LIMITS.bodyBytes) break;
      lease.grow(piece.length);
      pieces.push(piece);
    }
  } catch (cause) {
    if (cause instanceof ServerError) throw cause;
    throw new ServerError("malformed", "The body must be complete gzip", { cause });
  }
  if (bytes > REQUEST_LIMITS.bodyBytes) {
    throw new ServerError("too_large", `A body must have at most ${REQUEST_LIMITS.bodyBytes} bytes unpacked`);
  }
  return await new Blob(pieces).bytes();
}

/** Returns the metadata that the headers of a request have. */
function metadataOf(c: AppContext): Record<string, string> {
  const entries = [...c.req.raw.headers].filter(([name]) => name.startsWith(PREFIX))
    .map(([name, value]) => [name.slice(PREFIX.length), value] as const);
  const bytes = entries.reduce(
    (sum, [name, value]) => sum + ATTRIBUTE.length + name.length + value.length,
    0,
  );
  const isPrintable = entries.every((entry) => entry.every((text) => /^[\x20-\x7e]*$/.test(text)));
  if (!isPrintable || entries.some(([name]) => name === "") || bytes > MAX_METADATA_BYTES) {
    throw new ServerError(
      "malformed",
      `Metadata must be printable ASCII of at most ${MAX_METADATA_BYTES} bytes`,
    );
  }
  return Object.fromEntries(entries);
}

function setMetadata({ fileMetadata }: E2bSandbox, path: string, metadata: Record<string, string>): void {
  fileMetadata.delete(path);
  if (Object.keys(metadata).length === 0) return;
  fileMetadata.set(path, metadata);
  const [oldest] = fileMetadata.keys();
  if (fileMetadata.size > MAX_FILES_WITH_METADATA && oldest !== undefined) fileMetadata.delete(oldest);
}

function writtenBody({ fileMetadata }: E2bSandbox, { name, path, type }: GuestEntry): WrittenFile {
  const metadata = fileMetadata.get(path);
  return { name, path, type, ...(metadata && { metadata }) };
}

const STATUS: Partial<Record<Code, "malformed" | "not_found" | "too_large">> = {
  [Code.NotFound]: "not_found",
  [Code.InvalidArgument]: "malformed",
  [Code.AlreadyExists]: "malformed",
  [Code.ResourceExhausted]: "too_large",
};

/** Throws an error of the guest as an error of the server. */
function throwFileError(thrown: unknown): never {
  if (!(thrown instanceof ConnectError)) throw thrown;
  throw new ServerError(STATUS[thrown.code] ?? "conflict", thrown.rawMessage, { cause: thrown });
}
