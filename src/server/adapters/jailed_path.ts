const HOME = "/home/pyodide/";

/** A path of a client's as one under the working directory; `undefined` when it leads elsewhere. */
export function jailedPath(path: string): string | undefined {
  const inside = path.startsWith(HOME) ? path.slice(HOME.length) : path;
  const names = inside.split("/").filter((name) => name !== "" && name !== ".");
  const leaves = inside.startsWith("/") || names.length === 0 || names.includes("..");
  return leaves || /[\0\\]/.test(inside) ? undefined : names.join("/");
}
