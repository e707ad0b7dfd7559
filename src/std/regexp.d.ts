/** Returns the source of a regular expression that matches the text. */
export function escape(text: string): string;
