import { fromBase64 } from "../../base64.ts";
import type { FC } from "hono/jsx";
import type { MimeBundle } from "../../sandbox/exec.ts";
import { Code, SafeText } from "./safe_text.tsx";

/** Types of images that a browser decodes. They are shown from `data:` addresses, as nothing else is loaded. */
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** Characters of base64 of an image that is shown. */
const MAX_IMAGE_CHARACTERS = 4 * 1024 * 1024;

/** An object that a program showed: its picture, and its other forms as text. */
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

/** An image in base64. Its size is read from its bytes, so that the page does not move when it is drawn. */
export const Picture: FC<{ type: string; data: string; label: string }> = ({ type, data, label }) => {
  const base64 = data.replace(/\s+/g, "");
  if (!IMAGES.has(type) || base64.length > MAX_IMAGE_CHARACTERS || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) {
    return (
      <p class="note">
        <SafeText text={`${type}: ${data.length} characters of base64, which are not shown`} limit={200} />
      </p>
    );
  }
  const { width, height } = imageSize(base64);
  return (
    <img class="picture" src={`data:${type};base64,${base64}`} alt={label} width={width} height={height} />
  );
};

const DEFAULT_SIZE = { width: 640, height: 480 };
/** Characters of base64 that hold the size of an image. */
const HEAD_CHARACTERS = 64 * 1024;

/** Reads the size of a PNG, GIF or JPEG; a default for others. */
function imageSize(base64: string): { width: number; height: number } {
  const bytes = decodeHead(base64);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length > 24 && view.getUint32(0) === 0x89504e47) {
    return sizeOf(view.getUint32(16), view.getUint32(20));
  }
  if (bytes.length > 10 && view.getUint32(0) === 0x47494638) {
    return sizeOf(view.getUint16(6, true), view.getUint16(8, true));
  }
  for (let at = 2; at + 9 < bytes.length && bytes[0] === 0xff && bytes[at] === 0xff;) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return sizeOf(view.getUint16(at + 7), view.getUint16(at + 5));
    at += 2 + view.getUint16(at + 2);
  }
  return DEFAULT_SIZE;
}

function decodeHead(base64: string): Uint8Array {
  try {
    return fromBase64(base64.slice(0, HEAD_CHARACTERS - HEAD_CHARACTERS % 4));
  } catch {
    return new Uint8Array(); // the text is no base64: the browser shows the label
  }
}

function sizeOf(width: number, height: number): { width: number; height: number } {
  return width > 0 && height > 0 && width < 20_000 && height < 20_000 ? { width, height } : DEFAULT_SIZE;
}
