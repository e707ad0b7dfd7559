import { timingSafeEqual } from "@std/crypto";
import { createHash, type Hash } from "node:crypto";
import type { AppContext } from "../../http/context.ts";
import { ServerError } from "../../http/http_errors.ts";
import { E2B_HOME } from "./home_session.ts";

/** Query of a request to `/files`. */
export interface FileQuery {
  /** Path in the sent form, which may be relative to the home directory of the user; empty without a path. */
  readonly path: string;
  /** User of the request; empty for the default user. */
  readonly user: string;
  readonly signature: string | undefined;
  /** Seconds since 1970 after which the signature is void, as they are sent. */
  readonly expiration: string | undefined;
}

/** A URL that gives the holder an operation on a path. */
export interface SignedFile {
  readonly path: string;
  readonly operation: "read" | "write";
  readonly user: string;
  /** Seconds since 1970, as they were signed; `undefined` for a URL that does not expire. */
  readonly expiration: string | undefined;
}

/** The names of {@linkcode FileQuery}. */
const NAMES = ["path", "username", "signature", "signature_expiration"] as const;
/** Characters of a signed path. No file has a longer path. */
const MAX_PATH = 4096;
/** Base64 of 32 bytes without padding, in the only valid form. */
const SIGNATURE = /^v1_([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048])$/;
const SECONDS = /^(0|[1-9]\d{0,14})$/;
/** A colon ends a part of the signed text. Only the path, the first part, may have a colon. */
const USER = /^[^:]{0,64}$/;

const ROOT = "root";
const ROOT_HOME = "/root";

/**
 * Returns the query of a request to `/files`.
 *
 * @throws {ServerError} `malformed` if the query has a value twice, so that another reader could choose the other value.
 */
export function fileQueryOf(c: AppContext): FileQuery {
  const { searchParams } = new URL(c.req.url);
  const [path, user, signature, expiration] = NAMES.map((name) => {
    const [value, ...others] = searchParams.getAll(name);
    if (others.length === 0) return value;
    throw new ServerError("malformed", `The query must have '${name}' once: found ${1 + others.length}`);
  });
  return { path: path ?? "", user: user ?? "", signature, expiration };
}

/** Returns a path of a user, whose relative paths begin at the user's home directory. */
export function toUserPath(path: string, user: string): string {
  if (user !== ROOT || path.startsWith("/")) return path;
  return path === "~" || path.startsWith("~/") ? ROOT_HOME + path.slice(1) : `${ROOT_HOME}/${path}`;
}

/** Returns the path of a file that a form names and the URL does not, in the home directory of the user. */
export function toHomePath(name: string, user: string): string {
  const isInside = !name.startsWith("/") && !name.startsWith("~") && !name.split("/").includes("..");
  if (isInside) return `${user === ROOT ? ROOT_HOME : E2B_HOME}/${name}`;
  throw new ServerError(
    "malformed",
    "The URL was signed without a path: the names of the form must stay in the home directory",
  );
}

/**
 * Compares the signature of a request with the signatures of sandboxes. The common beginning is hashed once. A signature
 * is the SHA-256 of `path:operation:user:token`, and of `:expiration` if the URL expires; the SDKs of E2B compute
 * signatures.
 */
export class SignatureCheck {
  readonly #given: Uint8Array;
  readonly #start: Hash;
  readonly #end: string;

  private constructor(given: Uint8Array, { path, operation, user, expiration }: SignedFile) {
    this.#given = given;
    this.#start = createHash("sha256").update(`${path}:${operation}:${user}:`, "utf8");
    this.#end = expiration === undefined ? "" : `:${expiration}`;
  }

  /**
   * Checks all of a signature but the secret. Only a check that succeeds computes a hash.
   *
   * @param nowSeconds seconds since 1970
   * @throws {ServerError} `unauthorized` if the signature has expired or belongs to no URL.
   */
  static of(signature: string, file: SignedFile, nowSeconds: number): SignatureCheck {
    const { path, user, expiration } = file;
    const [, given] = SIGNATURE.exec(signature) ?? [];
    const isWhole = path.length <= MAX_PATH && USER.test(user) && SECONDS.test(expiration ?? "0");
    if (given === undefined || !isWhole) throw invalidSignature();
    if (expiration !== undefined && Number(expiration) < nowSeconds) {
      throw new ServerError("unauthorized", "signature is already expired"); // in E2B's words
    }
    return new SignatureCheck(Uint8Array.fromBase64(given), file);
  }

  /** True if a sandbox with this token has signed the URL. */
  matches(token: string): boolean {
    const digest = this.#start.copy().update(`${token}${this.#end}`, "utf8").digest();
    return timingSafeEqual(digest, this.#given);
  }
}

/** Returns the error of a URL that no sandbox has signed, in the words of E2B. */
export function invalidSignature(): ServerError {
  return new ServerError("unauthorized", "invalid signature");
}
