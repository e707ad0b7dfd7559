/** A module as text. */
export interface SourceModule {
  /** Last part of the path by which other modules import it. */
  readonly name: string;
  readonly source: string;
}

/**
 * Creates a blob for each module, whose imports point at the blobs before it. Returns the last blob's URL. A late
 * import gets its URL from a call, as Deno loads modules whose URLs it can read in the code together with the
 * importing one.
 */
export function linkModules(urls: Map<string, string>, modules: readonly SourceModule[]): string {
  let last = "";
  for (const { name, source } of modules) {
    const linked = source.replace(
      /(from |import |import\()"[^"]*\/([\w.]+)"(\)?)/g,
      (text, word: string, file: string, end: string) => {
        const url = urls.get(file);
        if (url === undefined) return text; // packages are not among the modules
        return word === "import(" ? `import(String("${url}"))` : `${word}"${url}"${end}`;
      },
    );
    last = blobUrl(linked);
    urls.set(name, last);
  }
  return last;
}

/** Returns a URL from which this process can import JavaScript source. */
export function blobUrl(source: string | Uint8Array<ArrayBuffer>): string {
  return URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
}
