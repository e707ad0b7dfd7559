import type * as z from "zod";
import { requireKnownOptions } from "../../options.ts";
import type { CheckedProfile } from "../exec/exec_check.ts";

/** Binary parts of a message to a node of a cluster. */
export interface SentParts {
  /** Adds a part, and returns the position. */
  add(bytes: Uint8Array): number;
}

/** Binary parts of a message that a node has received. */
export interface ReceivedParts {
  bytes(at: number): Uint8Array;
  /** Returns the value of a part that is JSON. */
  json(at: number): unknown;
}

/** How a field of options is checked, and sent to a server or to a node of a cluster. */
export interface Field<Value, Options> {
  /** Throws if the value is invalid. */
  check?(value: Value, options: Options, profile: CheckedProfile): void;
  /** Keys of the field in a request to a server. Servers get no field without keys, and refuse a `refused` field. */
  readonly json?: z.ZodRawShape | "refused";
  /** Returns these keys. Without this function, the value itself is sent. */
  toJson?(value: Value): object;
  /** Returns the value that these keys state. Without this function, the key has the value itself. */
  fromJson?(body: never): Value;
  /** Form of the field in a message to a node. Nodes get no field without a form. */
  readonly message?: z.ZodType;
  /** Returns this form. Without this function, the value itself is sent. */
  toMessage?(value: Value, parts: SentParts): unknown;
  /** Returns the value of this form. Without this function, the form is the value itself. */
  fromMessage?(form: never, parts: ReceivedParts): Value | undefined;
}

/** A field for each option. */
export type Fields<Options> = {
  readonly [Name in keyof Required<Options>]: Field<NonNullable<Options[Name]>, Options>;
};

/** Parts of a message with fields that have none. */
const NO_PARTS: SentParts & ReceivedParts = { add: refuseParts, bytes: refuseParts, json: refuseParts };

function refuseParts(): never {
  throw new Error("Cannot use parts of a message as its fields have none");
}

type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends
  (all: infer All extends z.ZodRawShape) => void ? All : never;
type JsonShape<Table> = Intersection<
  { [Name in keyof Table]: Table[Name] extends { json: infer Keys extends z.ZodRawShape } ? Keys : never }[
    keyof Table
  ]
>;
type MessageShape<Table> = {
  [Name in keyof Table as Table[Name] extends { message: z.ZodType } ? Name : never]: Table[Name] extends
    { message: infer Form extends z.ZodType } ? Form : never;
};

/** The fields of options. What each field is, only the field's entry states. */
export class FieldTable<Options extends object, Table extends Fields<Options>> {
  /** Keys of the options in a request to a server. */
  readonly json: JsonShape<Table>;
  /** Keys of the options in a message to a node. */
  readonly message: MessageShape<Table>;
  readonly #fields: readonly (readonly [keyof Options & string, Field<unknown, Options>])[];
  readonly #action: string;
  readonly #names: Readonly<Record<string, true>>;

  /** @param action What takes the options, such as `exec`, for messages. */
  constructor(action: string, table: Table) {
    this.#action = action;
    this.#names = Object.fromEntries(Object.keys(table).map((name) => [name, true]));
    this.#fields = Object.entries(table) as [keyof Options & string, Field<unknown, Options>][];
    this.json = Object.assign({}, ...this.#fields.map(([, field]) => keysOf(field)));
    this.message = Object.fromEntries(
      this.#fields.flatMap(([name, { message }]) => message ? [[name, message]] : []),
    ) as MessageShape<Table>;
  }

  /** Throws for an unknown option, or the error of the first invalid option, in the order of the table. */
  check(options: Options, profile: CheckedProfile): void {
    this.checkNames(options);
    for (const [name, field] of this.#fields) {
      if (options[name] !== undefined) field.check?.(options[name], options, profile);
    }
  }

  /** Throws for an unknown option. */
  checkNames(options: object): void {
    requireKnownOptions(this.#action, options, this.#names);
  }

  /** Returns the name of the first option that servers refuse, unless the value is false. */
  refusedByServers(options: Options): string | undefined {
    return this.#fields.find(([name, { json }]) => json === "refused" && options[name])?.[0];
  }

  /** Returns the options as a request to a server has them. */
  toJson(options: Options): z.input<z.ZodObject<JsonShape<Table>>> {
    const bodies = this.#fields.map(([name, field]) => {
      const value = options[name];
      if (value === undefined || typeof field.json !== "object") return {};
      return field.toJson?.(value) ?? { [name]: value };
    });
    return Object.assign({}, ...bodies);
  }

  /** Returns the options of a request to a server. Other keys are ignored. */
  fromJson(body: z.output<z.ZodObject<JsonShape<Table>>>): Options {
    return Object.fromEntries(this.#fields.flatMap(([name, field]) => {
      const isGiven = Object.keys(keysOf(field)).some((key) => body[key as keyof typeof body] !== undefined);
      if (!isGiven) return [];
      return [[name, field.fromJson ? field.fromJson(body as never) : body[name as never]]];
    })) as Options;
  }

  /** Returns the options as a message to a node has them. Adds their bytes to the parts of the message. */
  toMessage(options: Options, parts: SentParts = NO_PARTS): z.input<z.ZodObject<MessageShape<Table>>> {
    return Object.fromEntries(this.#fields.flatMap(([name, field]) => {
      const value = options[name];
      if (value === undefined || !field.message) return [];
      return [[name, field.toMessage ? field.toMessage(value, parts) : value]];
    })) as z.input<z.ZodObject<MessageShape<Table>>>;
  }

  /** Returns the options of a message to a node. Other keys are ignored. */
  fromMessage(message: z.output<z.ZodObject<MessageShape<Table>>>, parts: ReceivedParts = NO_PARTS): Options {
    return Object.fromEntries(this.#fields.flatMap(([name, field]) => {
      const form = message[name as never];
      if (form === undefined || !field.message) return [];
      return [[name, field.fromMessage ? field.fromMessage(form, parts) : form]];
    })) as Options;
  }
}

function keysOf({ json }: Field<unknown, never>): z.ZodRawShape {
  return typeof json === "object" ? json : {};
}
