import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { EgressError, type EgressSecret } from "./egress_policy.ts";
import { MAX_BODY_BYTES, type RecordedResponse } from "./exchange.ts";

const HEADER = "header:";
const MIN_CUT_CHARACTERS = 6;

/** Decoders of bodies, by the names of their encodings. */
const DECODERS: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gunzipSync(bytes, LIMIT),
  "x-gzip": (bytes) => gunzipSync(bytes, LIMIT),
  deflate: (bytes) => inflateSync(bytes, LIMIT),
  br: (bytes) => brotliDecompressSync(bytes, LIMIT),
  zstd: (bytes) => zstdDecompressSync(bytes, LIMIT),
};
const LIMIT = { maxOutputLength: MAX_BODY_BYTES };

/** Fills secrets into the requests of a connection, and takes them out of the responses. */
export class SecretGuard {
  readonly #secrets: readonly EgressSecret[];
  readonly #forms: readonly (readonly [form: string, shown: string])[];

  constructor(secrets: readonly EgressSecret[]) {
    this.#secrets = secrets;
    this.#forms = secrets.flatMap(({ value, placeholder }) => formsOf(value, placeholder));
  }

  /** Returns the head of a request, each byte as a character, with the values in their places. */
  fill(head: string): string {
    const [line = "", ...headers] = head.split("\r\n");
    return [this.#fillQuery(line), ...headers.map((header) => this.#fillHeader(header))].join("\r\n");
  }

  #fillHeader(header: string): string {
    const colon = header.indexOf(":");
    const place = `${HEADER}${header.slice(0, colon).toLowerCase()}`;
    return header.slice(0, colon) + this.#fillText(header.slice(colon), place);
  }

  #fillQuery(line: string): string {
    const start = line.indexOf("?");
    if (start < 0) return line;
    return line.slice(0, start) + this.#fillText(line.slice(start), "query", encodeURIComponent);
  }

  #fillText(text: string, place: string, encode = (value: string) => value): string {
    return this.#secrets.filter((secret) => secret.in.includes(place))
      .reduce((filled, { placeholder, value }) => filled.replaceAll(placeholder, () => encode(value)), text);
  }

  /**
   * Returns a response without the values, and with a body that is not compressed.
   *
   * @throws {EgressError} if the body has an encoding that cannot be read.
   */
  scrub(response: RecordedResponse): RecordedResponse {
    const encodings = response.headers.filter(([name]) => name === "content-encoding")
      .flatMap(([, value]) => value.toLowerCase().split(",")).map((name) => name.trim()).filter(Boolean);
    const body = decode(Uint8Array.fromBase64(response.body), encodings);
    const text = this.#replace(toText(body));
    return {
      status: response.status,
      reason: this.#replace(response.reason),
      headers: response.headers.filter(([name]) => name !== "content-encoding")
        .map(([name, value]) => [this.#replace(name), this.#replace(value)]),
      body: Uint8Array.from(text, (character) => character.charCodeAt(0)).toBase64(),
    };
  }

  #replace(text: string): string {
    return this.#forms.reduce((replaced, [form, shown]) => replaced.replaceAll(form, () => shown), text);
  }
}

function decode(body: Uint8Array, encodings: readonly string[]): Uint8Array {
  try {
    return encodings.reduceRight((bytes, name) => {
      const decoder = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
      if (!decoder) throw new EgressError("EIO", "unknown encoding");
      return bytes.length === 0 ? bytes : decoder(bytes);
    }, body);
  } catch {
    const names = encodings.join(", ").slice(0, 100);
    throw new EgressError("EIO", `a response cannot be searched for secrets, as its encoding is '${names}'`);
  }
}

/** Returns the forms of a value that are replaced, each with what is shown in its place. */
function formsOf(value: string, placeholder: string): [form: string, shown: string][] {
  const percent = encodeURIComponent(value);
  const lower = percent.replaceAll(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase());
  const plain = [value, percent, lower, percent.replaceAll("%20", "+")].map((form) =>
    [form, placeholder] as const
  );
  const encoded = [0, 1, 2].flatMap((offset) => base64Forms(value, offset));
  const forms = [...plain, ...encoded.map((form) => [form, "*".repeat(form.length)] as const)];
  return [...new Map(forms)].toSorted(([one], [other]) => other.length - one.length);
}

/** Returns the characters of base64 that a value fixes if it begins after so many bytes of a group of three. */
function base64Forms(value: string, offset: number): string[] {
  const bytes = new TextEncoder().encode("\0".repeat(offset) + value);
  const start = Math.ceil(offset * 8 / 6);
  const form = bytes.toBase64({ omitPadding: true }).slice(start, Math.floor(bytes.length * 8 / 6));
  if (form.length < MIN_CUT_CHARACTERS) return [];
  return [form, form.replaceAll("+", "-").replaceAll("/", "_")];
}

function toText(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return text;
}
