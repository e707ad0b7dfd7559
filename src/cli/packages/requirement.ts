import { normalizeName } from "../../sandbox/profile/packages.ts";
import { UsageError } from "../cli_errors.ts";

/** Maximum length of a requirement, in characters. */
const MAX_LENGTH = 500;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*/;
/** Extras, versions and a marker. Excludes `@`, which names an address. */
const REST = /^ *(\[[\w .,-]*\])?[\w .,<>=!~*+()-]*(;[\w .,<>=!~*+()'"-]*)?$/;

/**
 * Returns the normalized name of the package of a requirement such as `pydantic[email]>=2`.
 *
 * @throws {UsageError} if the text is no requirement by name, such as a file, an address or an option.
 */
export function requirementName(text: string): string {
  const [name] = NAME.exec(text) ?? [];
  if (name !== undefined && text.length <= MAX_LENGTH && REST.test(text.slice(name.length))) {
    return normalizeName(name.replace(/[._-]+$/, ""));
  }
  throw new UsageError(
    `Cannot read requirement '${
      text.slice(0, 80)
    }' as it must be a name with optional versions, such as pydantic>=2`,
  );
}
