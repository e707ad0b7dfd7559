import { type CommandContext, errorText, UsageError } from "../command.ts";
import { type Zone, zoneOf } from "../time_zone.ts";
import { expandEscapes } from "./lexer.ts";
import { AwkFailure } from "./syntax.ts";
import { Expressions } from "./expressions.ts";
import { numberFormatter } from "./format.ts";
import { RandomNumbers } from "./random.ts";
import { CurrentRecord, type RecordReader, splitByContent, splitByWidths, splitText } from "./records.ts";
import { Streams, type StreamSettings } from "./streams.ts";
import { Cell, isTrue, toNumber, toText, UserText, type Value } from "./values.ts";

/** The number of fields, which the record holds. */
class CountCell extends Cell {
  readonly #record: CurrentRecord;

  constructor(record: CurrentRecord) {
    super();
    this.#record = record;
  }

  override get value(): Value {
    return this.#record.count;
  }

  override set value(value: Value) {
    const count = Math.trunc(toNumber(value));
    if (count < 0) throw new AwkFailure("NF set to negative value");
    if (count > MAX_FIELDS) {
      throw new AwkFailure(`more than ${MAX_FIELDS} fields are not available in the sandbox`);
    }
    this.#record.count = count;
  }
}

const MAX_FIELDS = 10_000_000;

/** A file of the command line, whose records are read. */
export interface InputFile {
  readonly name: string;
  readonly reader: RecordReader;
}

const SETTINGS = {
  CONVFMT: "%.6g",
  FIELDWIDTHS: undefined,
  FPAT: undefined,
  FS: " ",
  IGNORECASE: undefined,
  OFMT: "%.6g",
  OFS: " ",
  ORS: "\n",
  RS: "\n",
  SUBSEP: "\x1c",
} as const;

type SettingName = keyof typeof SETTINGS;

/** State of a running program: variables, the record, inputs and outputs. */
export class Runtime {
  readonly context: CommandContext;
  readonly streams: Streams;
  readonly record: CurrentRecord;
  readonly globals = new Map<string, Cell>();
  readonly random = new RandomNumbers(1);
  readonly expressions = new Expressions();
  lastSeed = 0;
  exitCode = 0;
  /** Number of calls that have not returned. */
  depth = 0;
  readonly #settings: Readonly<Record<SettingName, Cell>>;
  readonly #records = { all: this.global("NR", 0), file: this.global("FNR", 0), end: this.global("RT") };
  #formats = new Map<string, (value: number) => string>();
  #file: InputFile | undefined;
  #argument = 1;
  #hasRead = false;
  #steps = 0;

  /** Called with the name of each file that is opened, and at the end of the last file. */
  onFile: ((name: string | undefined) => void) | undefined;

  constructor(context: CommandContext, streamSettings: StreamSettings = {}) {
    this.context = context;
    this.streams = new Streams(context, streamSettings);
    const settings = Object.entries(SETTINGS).map(([name, value]) => [name, this.global(name, value)]);
    this.#settings = Object.fromEntries(settings);
    this.record = new CurrentRecord({
      split: (text) => this.#split(text),
      joint: () => this.setting("OFS"),
    });
    this.globals.set("NF", new CountCell(this.record));
    for (const [name, value] of [["RSTART", 0], ["RLENGTH", -1], ["FILENAME", ""], ["ERRNO", ""]] as const) {
      this.global(name, value);
    }
    const { array } = this.global("ENVIRON");
    for (const [name, value] of Object.entries(context.variables)) array.set(name, new UserText(value));
    const process = this.global("PROCINFO").array;
    process.set("version", "5.2.1");
    process.set("strftime", "%a %b %e %H:%M:%S %Z %Y");
    process.set("FS", "FS");
  }

  /** Returns a global variable, which is made at its first use. */
  global(name: string, value?: Value): Cell {
    let cell = this.globals.get(name);
    if (cell === undefined) this.globals.set(name, cell = new Cell(value));
    return cell;
  }

  /** Text of a variable that controls awk. */
  setting(name: SettingName): string {
    return this.text(this.#settings[name].value);
  }

  get ignoresCase(): boolean {
    const { value } = this.#settings.IGNORECASE;
    return value !== undefined && isTrue(value);
  }

  get zone(): Zone {
    return zoneOf(this.context);
  }

  readonly compile = (source: string): RegExp => this.expressions.compile(source, this.ignoresCase);

  readonly convert = (value: number): string => this.#formatter("CONVFMT")(value);

  text(value: Value): string {
    return typeof value === "string" ? value : toText(value, this.convert);
  }

  /** Text as `print` writes it. */
  shown(value: Value): string {
    return toText(value, this.#formatter("OFMT"));
  }

  #formatter(name: "CONVFMT" | "OFMT"): (value: number) => string {
    const { value } = this.#settings[name];
    const format = typeof value === "string" ? value : toText(value, String);
    let formatter = this.#formats.get(format);
    if (!formatter) this.#formats.set(format, formatter = numberFormatter(format));
    return formatter;
  }

  /** Sets a variable by an argument `name=value`. */
  assign(name: string, value: string): void {
    this.global(name).value = new UserText(expandEscapes(value));
    if (name === "FIELDWIDTHS" || name === "FPAT" || name === "FS") this.noteSplitter(name);
  }

  /** Notes which of the three variables was set last: it splits the fields. */
  noteSplitter(name: "FIELDWIDTHS" | "FPAT" | "FS"): void {
    this.#splitter = name;
    this.global("PROCINFO").array.set("FS", name);
  }

  #splitter: "FIELDWIDTHS" | "FPAT" | "FS" = "FS";

  #split(text: string): readonly string[] {
    if (this.#splitter === "FIELDWIDTHS") return splitByWidths(text, this.setting("FIELDWIDTHS")).parts;
    if (this.#splitter === "FPAT") return splitByContent(text, this.compile(this.setting("FPAT"))).parts;
    const separator = this.setting("FS");
    const isParagraph = this.setting("RS") === "" && separator !== " ";
    const isCaseless = this.ignoresCase && separator.length === 1 && separator !== " ";
    return splitText(text, isCaseless ? `[${separator}]` : separator, { compile: this.compile, isParagraph })
      .parts;
  }

  /** Reads the next record of a reader. Sets `RT`. */
  read(reader: RecordReader): string | undefined {
    const record = reader.next({ separator: this.setting("RS"), compile: this.compile });
    this.#records.end.value = reader.end;
    return record;
  }

  /** Counts a record of the command line's files. */
  count(): void {
    const { all, file } = this.#records;
    all.value = toNumber(all.value) + 1;
    file.value = toNumber(file.value) + 1;
  }

  /** Counts a step of work that may not end. Returns true when other commands must have their turn: the caller awaits. */
  step(): boolean {
    if ((++this.#steps & 1023) !== 0) return false;
    this.context.poll();
    return true;
  }

  /** Opens the next file of the command line, and performs the assignments before it. */
  nextFile(): InputFile | undefined {
    this.#file = undefined;
    const argv = this.global("ARGV").array;
    for (; this.#argument < toNumber(this.global("ARGC").value); this.#argument++) {
      const key = String(this.#argument);
      const word = argv.has(key) ? this.text(argv.cell(key).value) : "";
      if (word === "") continue;
      const [, name, value = ""] = /^([A-Za-z_]\w*)=([^]*)$/.exec(word) ?? [];
      if (name !== undefined) {
        this.assign(name, value);
        continue;
      }
      this.#argument++;
      return this.#open(word);
    }
    if (!this.#hasRead) return this.#open("-");
    this.onFile?.(undefined);
    return undefined;
  }

  #open(word: string): InputFile | undefined {
    this.#hasRead = true;
    const found = word === "-" ? this.streams.stdin : this.streams.file(word);
    if (found === "Is a directory") {
      this.warn(`warning: command line argument \`${word}' is a directory: skipped`);
      return this.nextFile();
    }
    if (typeof found === "string") {
      throw new AwkFailure(`cannot open file \`${word}' for reading: ${found}`);
    }
    this.global("FILENAME").value = new UserText(word);
    this.#records.file.value = 0;
    this.onFile?.(word);
    return this.#file = { name: word, reader: found };
  }

  get file(): InputFile | undefined {
    return this.#file;
  }

  warn(message: string): void {
    this.context.printError(`awk: ${message}\n`);
  }
}

/** Returns the failure of a redirection. */
export function redirectionFailure(name: string, error: unknown): AwkFailure {
  if (error instanceof UsageError) throw error;
  return new AwkFailure(`cannot redirect to \`${name}': ${errorText(error)}`);
}
