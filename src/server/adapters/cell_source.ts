/** A cell as IPython runs it: the indentation of its first line is taken off all lines that have it. */
export function cellSource(code: string): string {
  const indentation = /^(?:[ \t]*\r?\n)*([ \t]+)\S/.exec(code)?.[1];
  if (indentation === undefined) return code;
  return code.split("\n").map((line) => line.startsWith(indentation) ? line.slice(indentation.length) : line)
    .join("\n");
}
