/** Returns the paths of all files below a folder, sorted, relative to the folder. */
export async function walk(folder: string, below = ""): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(`${folder}/${below}`)) {
    const path = below ? `${below}/${name}` : name;
    if (isDirectory) paths.push(...await walk(folder, path));
    else paths.push(path);
  }
  return paths.sort();
}
