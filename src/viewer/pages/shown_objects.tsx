import { fromBase64 } from "../../base64.ts";
import type { FC } from "hono/jsx";
import type { MimeBundle } from "../../sandbox/contract/exec.ts";
import { formatNumber } from "./format.ts";
import { Code, SafeText } from "./safe_text.tsx";

/** Types of images that a browser decodes. They are shown from `data:` addresses, as nothing else is loaded. */
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** Characters of base64 of an image that is shown. */
const MAX_IMAGE_CHARACTERS = 4 * 1024 * 1024;

/** An object that a program showed: the picture, and the other forms as text. */
export const ShownObject: FC<{ bundle: MimeBundle }> = ({ bundle }) => (
  <div class="shown">
    {Object.entries(bundle).map(([type, data]) =>
      IMAGES.has(type) && typeof data === "string"
        ? <Picture type={type} data={data} label="Image that the code showed" />
        : type === "text/plain"
        ? (
          <pre class="output">
            <SafeText text={typeof data === "string" ? data : JSON.stringify(data)} />
          </pre>
        )
        : (
          <details>
            <summary>
              <SafeText text={type} limit={80} />
            </summary>
            <Code
              code={typeof data === "string" ? data : JSON.stringify(data, null, 2)}
              language={type.includes("json") ? "json" : ""}
            />
          </details>
        )
    )}
  </div>
);

/** An image in base64. The size is read from the bytes, so that the page does not move when the image is drawn. */
export const Picture: FC<{ type: string; data: string; label: string }> = ({ type, data, label }) => {
  const base64 = data.replace(/\s+/g, "");
  const isShown = IMAGES.has(type) && base64.length <= MAX_IMAGE_CHARACTERS &&
    /^[A-Za-z0-9+/]+={0,2}$/.test(base64);
  const size = isShown ? imageSize(decodeHead(base64)) : undefined;
  if (size === undefined) {
    const text = `${type}: ${
      formatNumber(data.length)
    } characters of base64, which are no image that is shown`;
    return (
      <p class="note">
        <SafeText text={text} limit={200} />
      </p>
    );
  }
  return <img class="picture" src={`data:${type};base64,${base64}`} alt={label} {...size} />;
};

interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Characters of base64 that hold the size of an image. */
const HEAD_CHARACTERS = 64 * 1024;
/** Pixels of a side of an image that is shown. */
const MAX_PIXELS = 20_000;

function decodeHead(base64: string): Uint8Array {
  try {
    return fromBase64(base64.slice(0, HEAD_CHARACTERS - HEAD_CHARACTERS % 4));
  } catch {
    return new Uint8Array(); // the text is no base64: no format fits
  }
}

/** Reads the size of a PNG, GIF, JPEG or WebP; `undefined` if the bytes are none of them. */
function imageSize(bytes: Uint8Array): ImageSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  try {
    const size = pngSize(view) ?? gifSize(view) ?? jpegSize(view) ?? webpSize(view);
    return size && size.width > 0 && size.height > 0 && Math.max(size.width, size.height) < MAX_PIXELS
      ? size
      : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined; // the bytes end before the size
    throw error;
  }
}

function pngSize(view: DataView): ImageSize | undefined {
  return view.getUint32(0) === 0x89504e47
    ? { width: view.getUint32(16), height: view.getUint32(20) }
    : undefined;
}

function gifSize(view: DataView): ImageSize | undefined {
  return view.getUint32(0) === 0x47494638
    ? { width: view.getUint16(6, true), height: view.getUint16(8, true) }
    : undefined;
}

function jpegSize(view: DataView): ImageSize | undefined {
  if (view.getUint16(0) !== 0xffd8) return undefined;
  for (let at = 2; view.getUint8(at) === 0xff;) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}

/** The three forms of WebP: lossy, lossless and extended (RFC 9649). */
function webpSize(view: DataView): ImageSize | undefined {
  if (view.getUint32(0) !== 0x52494646 || view.getUint32(8) !== 0x57454250) return undefined;
  const uint24 = (at: number) => view.getUint16(at, true) | view.getUint8(at + 2) << 16;
  switch (view.getUint32(12)) {
    case 0x56503820: // "VP8 "
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    case 0x5650384c: { // "VP8L": 14 bits each, after a signature
      const bits = view.getUint32(21, true);
      return { width: (bits & 0x3fff) + 1, height: (bits >>> 14 & 0x3fff) + 1 };
    }
    case 0x56503858: // "VP8X"
      return { width: uint24(24) + 1, height: uint24(27) + 1 };
    default:
      return undefined;
  }
}
