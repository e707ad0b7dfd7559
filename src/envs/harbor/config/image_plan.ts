import { join, posix } from "node:path";
import { errorMessage } from "../../../errors.ts";
import { quoteWord } from "../quote.ts";
import type { HarborFile, ImagePlan, ImageStep } from "../task.ts";
import {
  type DockerInstruction,
  expandVariables,
  jsonWords,
  parseDockerfile,
  splitWords,
} from "./dockerfile.ts";
import { type FolderFile, type FolderFiles, listFolder, readOptionalText } from "./folder_files.ts";
import { scriptNeeds } from "./installs.ts";
import { scriptCommands } from "./script_commands.ts";
import { UV_IMAGE } from "./system_packages.ts";

/** An image, and what a sandbox needs for the image. */
export interface PlannedImage {
  readonly plan: ImagePlan;
  /** Commands that the image's instructions run. */
  readonly commands: readonly string[];
  readonly faults: readonly string[];
  readonly notes: readonly string[];
}

/** Images that the sandbox stands in for. */
const KNOWN_IMAGE =
  /^(?:docker\.io\/)?(?:library\/)?(python|ubuntu|debian)(?::([\w.-]+))?(?:@sha256:[0-9a-f]{64})?$/;
const IGNORED: readonly string[] = ["CMD", "EXPOSE", "LABEL", "MAINTAINER", "STOPSIGNAL"];
const ARCHIVE = /\.(?:tar|tgz|tbz2?|txz|tar\.\w+)$/;
/** Files that are read as requirements. */
const TEXT_FILE = /\.txt$/;
const MAX_TEXT_BYTES = 64 * 1024;

/** Reads the image of a folder: its Dockerfile, or else the named image. */
export async function planFolder(folder: string, image: string | undefined): Promise<PlannedImage> {
  const dockerfile = await readOptionalText(join(folder, "Dockerfile"));
  if (dockerfile !== undefined) return await planImage(dockerfile, folder);
  const planner = new ImagePlanner({ files: [], links: [] });
  if (image === undefined) planner.addFault("there is no Dockerfile and no docker_image");
  else planner.useBase(image);
  const [file] = (await listFolder(folder)).files;
  if (file !== undefined) planner.addFault(`'${file.path}' is beside no Dockerfile`);
  return planner.planned();
}

/**
 * Reads a Dockerfile. What the sandbox cannot do is a fault.
 *
 * @param folder Folder of the host with the files that the Dockerfile copies.
 */
async function planImage(dockerfile: string, folder: string): Promise<PlannedImage> {
  const context = await listFolder(folder);
  const planner = new ImagePlanner(context);
  try {
    for (const instruction of parseDockerfile(dockerfile)) await planner.read(instruction);
    planner.requireBase();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    planner.addFault(errorMessage(error));
  }
  return planner.planned();
}

class ImagePlanner {
  readonly #context: FolderFiles;
  readonly #steps: ImageStep[] = [];
  readonly #faults = new Set<string>();
  readonly #notes = new Set<string>();
  readonly #requirements = new Set<string>();
  readonly #commands = new Set<string>();
  /** Values that arguments of instructions name. */
  readonly #values = new Map<string, string>();
  /** Values of `ARG`, which only `RUN` has. */
  readonly #arguments = new Map<string, string>();
  /** Folders that exist, to which a file is copied under the file's own name. */
  readonly #folders = new Set(["/", "/root", "/tmp", "/home", "/opt", "/srv", "/var"]);
  readonly #texts = new Map<string, string>();
  #workdir = "/";
  #stages = 0;

  constructor(context: FolderFiles) {
    this.#context = context;
  }

  planned(): PlannedImage {
    const plan = { workdir: this.#workdir, steps: this.#steps, requirements: [...this.#requirements] };
    return {
      plan,
      commands: [...this.#commands],
      faults: [...this.#faults],
      notes: [...this.#notes],
    };
  }

  addFault(fault: string): void {
    this.#faults.add(fault);
  }

  requireBase(): void {
    if (this.#stages === 0) this.addFault("the Dockerfile has no FROM");
  }

  useBase(image: string): void {
    this.#stages++;
    const [, name, tag = ""] = KNOWN_IMAGE.exec(image) ?? [];
    if (name === undefined) {
      return this.addFault(`the image '${image}' is none of python, ubuntu and debian`);
    }
    const version = name === "python" ? /^\d+(?:\.\d+)*/.exec(tag)?.[0] : undefined;
    if (version?.startsWith("2")) this.addFault(`the sandbox has no Python ${version}`);
    else if (version !== undefined && !/^3(?:\.14)?(?:\.|$)/.test(version)) {
      this.#notes.add(`Python is 3.14 in place of ${version}`);
    }
  }

  async read(instruction: DockerInstruction): Promise<void> {
    const { name, text, options, documents } = instruction;
    if (IGNORED.includes(name)) return;
    if (documents.length > 0 && name !== "RUN") return this.addFault(`${name} copies a here-document`);
    switch (name) {
      case "FROM":
        return this.#readFrom(text);
      case "ARG":
        return this.#readArgument(text);
      case "ENV":
        return this.#readVariables(text);
      case "WORKDIR":
        return this.#readWorkdir(text);
      case "VOLUME":
        return (jsonWords(text) ?? splitWords(text)).forEach((path) => this.#makeFolder(path));
      case "USER":
        if (!/^(?:root|0)(?::\w+)?$/.test(text)) this.addFault(`the user '${text}' is not root`);
        return;
      case "SHELL":
        if (!/^\["(?:\/bin\/)?(?:ba)?sh"/.test(text)) this.addFault(`the shell ${text} is not bash`);
        return;
      case "HEALTHCHECK":
        if (text.trim().toUpperCase() !== "NONE") this.addFault("a health check needs a daemon");
        return;
      case "COPY":
      case "ADD":
        return options.from === undefined
          ? await this.#readCopy(instruction)
          : this.#readForeign(options.from);
      case "RUN":
        return await this.#readRun(instruction);
      default:
        return this.addFault(`the sandbox has nothing for the instruction ${name}`);
    }
  }

  #readFrom(text: string): void {
    if (this.#stages > 0) return this.addFault("the Dockerfile has several stages");
    const [image = ""] = splitWords(expandVariables(text, this.#arguments));
    this.useBase(image);
    this.#arguments.clear();
  }

  #readForeign(image: string): void {
    if (!UV_IMAGE.test(image)) this.addFault(`a file is copied from the image or stage '${image}'`);
  }

  #readArgument(text: string): void {
    for (const word of splitWords(text)) {
      const [name = "", value] = word.split(/=(.*)/s, 2);
      if (value === undefined) continue;
      const expanded = expandVariables(value, this.#values);
      this.#arguments.set(name, expanded);
      if (!this.#values.has(name)) this.#values.set(name, expanded);
    }
  }

  #readVariables(text: string): void {
    const words = splitWords(text);
    const pairs = words[0]?.includes("=")
      ? words.map((word) => word.split(/=(.*)/s, 2))
      : [[words[0], text.replace(/^\S+\s+/, "")]];
    for (const [name = "", value = ""] of pairs) {
      if (!/^[A-Za-z_]\w*$/.test(name)) {
        this.addFault(`ENV has the name '${name}', which is no name of a variable`);
        continue;
      }
      const expanded = expandVariables(value, this.#values);
      this.#values.set(name, expanded);
      this.#steps.push({ kind: "variable", name, value: expanded });
    }
  }

  #readWorkdir(text: string): void {
    const [path = ""] = splitWords(expandVariables(text, this.#values));
    this.#workdir = posix.resolve(this.#workdir, path);
    this.#makeFolder(this.#workdir);
  }

  #makeFolder(path: string): void {
    const full = posix.resolve(this.#workdir, path);
    this.#steps.push({ kind: "folder", path: full });
    this.#addFolder(full);
  }

  #addFolder(path: string): void {
    for (let at = path; !this.#folders.has(at); at = posix.dirname(at)) this.#folders.add(at);
  }

  async #readCopy({ name, text, options }: DockerInstruction): Promise<void> {
    const expanded = expandVariables(text, this.#values);
    const words = jsonWords(expanded) ?? splitWords(expanded);
    const target = words.pop() ?? "";
    if (this.#context.files.some(({ path }) => path === ".dockerignore")) {
      this.addFault("the sandbox does not read '.dockerignore'");
    }
    const files: HarborFile[] = [];
    for (const source of words) {
      if (name === "ADD" && (/^[\w+.-]+:\/\/|^git@/.test(source) || ARCHIVE.test(source))) {
        this.addFault(`ADD downloads or unpacks '${source}'`);
        continue;
      }
      files.push(...this.#copied(source, { target, isFolder: target.endsWith("/") || words.length > 1 }));
    }
    const isExecutable = /[1357]\d\d$|[+=][rwX]*x/.test(options.chmod ?? "");
    this.#steps.push({
      kind: "files",
      files: isExecutable ? files.map((file) => ({ ...file, isExecutable })) : files,
    });
    await this.#readTexts(files);
  }

  /** Returns the files that a source of `COPY` names: a file, all that is in a folder, or what a pattern matches. */
  #copied(source: string, { target, isFolder }: { target: string; isFolder: boolean }): HarborFile[] {
    const at = posix.resolve(this.#workdir, target);
    const plain = posix.normalize(source).replace(/^\.?\//, "").replace(/\/$/, "");
    const found = this.#matching(plain);
    if (found.length === 0) {
      this.addFault(`COPY names '${source}', which is not in the folder of the Dockerfile`);
    }
    const isPattern = /[*?[]/.test(plain);
    return found.map(({ file, root }) => {
      const inside = file.path.slice(root === "." ? 0 : root.length + 1);
      const isFile = file.path === root;
      const intoFolder = isFolder || isPattern || this.#folders.has(at);
      const path = !isFile ? posix.join(at, inside) : intoFolder ? posix.join(at, posix.basename(root)) : at;
      this.#addFolder(posix.dirname(path));
      return { path, hostPath: file.hostPath, isExecutable: file.isExecutable };
    });
  }

  /** Returns the files of a source with the path of the file or folder that the source names. */
  #matching(source: string): { file: FolderFile; root: string }[] {
    if (this.#context.links.some((link) => source === "." || `${link}/`.startsWith(`${source}/`))) {
      this.addFault(`'${source}' of COPY has symbolic links`);
    }
    const depth = source.split("/").length;
    return this.#context.files.flatMap((file) => {
      if (source === "" || source === ".") return { file, root: "." };
      const root = file.path.split("/").slice(0, depth).join("/");
      return posix.matchesGlob(root, source) ? { file, root } : [];
    });
  }

  async #readTexts(files: readonly HarborFile[]): Promise<void> {
    for (const { path, hostPath } of files) {
      if (!TEXT_FILE.test(path) || (await Deno.stat(hostPath)).size > MAX_TEXT_BYTES) continue;
      this.#texts.set(path, await Deno.readTextFile(hostPath));
    }
  }

  async #readRun({ text, options, documents }: DockerInstruction): Promise<void> {
    const { mount } = options;
    if (mount !== undefined && !/\btype=(?:cache|tmpfs)\b/.test(mount)) {
      return this.addFault(`RUN mounts '${mount}'`);
    }
    const [document] = documents;
    if (document !== undefined && !/^<<-?["']?\w+["']?$/.test(text.trim())) {
      return this.addFault(`RUN gives a here-document to '${text}'`);
    }
    const script = document ?? jsonWords(text)?.map(quoteWord).join(" ") ?? text;
    const { commands, functions, fault } = await scriptCommands(script);
    if (fault !== undefined) this.addFault(`RUN is not read as bash: ${fault}`);
    const readText = (path: string) => this.#texts.get(posix.resolve(this.#workdir, path));
    const needs = scriptNeeds(commands, { readText });
    needs.faults.forEach((each) => this.addFault(each));
    needs.requirements.forEach((each) => this.#requirements.add(each));
    needs.commands.filter((each) => !functions.has(each)).forEach((each) => this.#commands.add(each));
    const given = [...this.#arguments].map(([name, value]) => `export ${name}=${quoteWord(value)}\n`);
    this.#steps.push({ kind: "run", command: given.join("") + script, workdir: this.#workdir });
  }
}
