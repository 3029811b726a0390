// Limits the JSON of a review before it is parsed. Bytes are cheap: the number of values and their depth are what lets
// a body of some megabytes block the process for a second. Pure.

/**
 * Ten times the largest pods; parses in some 30 ms: 16,000 environment variables, or 12,000 with their managedFields.
 */
export const MAX_VALUES = 50_000;
/** Kubernetes' own kinds are some twenty levels deep. */
export const MAX_DEPTH = 200;
/** Shorter texts are never expensive. */
const CHECKED_FROM_LENGTH = 16 * 1024;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Which limit a JSON text exceeds; undefined when none. Does not validate the JSON. */
export function excessOf(text: string): string | undefined {
  if (text.length < CHECKED_FROM_LENGTH) return undefined;
  let values = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at + 1);
    else if (code === COMMA) values += 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      values += 1;
      depth += 1;
      if (depth > MAX_DEPTH) return `is more than ${MAX_DEPTH} levels deep`;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
    if (values > MAX_VALUES) return `has more than ${MAX_VALUES} values`;
  }
  return undefined;
}

/** Index of the closing quote of the string that begins at `from`; past the end when there is none. */
function endOfText(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (at - backslashes > from && text.charCodeAt(at - backslashes - 1) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}

/** The start of an API server's review: its uid comes before the object. */
const FRAME = new RegExp(
  String.raw`^\{"kind":"AdmissionReview","apiVersion":"(admission\.k8s\.io/v1(?:beta1)?)",` +
    String.raw`"request":\{"uid":"([0-9A-Za-z-]{1,128})"`,
);

/** Version and uid of a review that will not be parsed; undefined when no API server wrote it. */
export function frameOf(text: string): { readonly apiVersion: string; readonly uid: string } | undefined {
  const [, apiVersion, uid] = FRAME.exec(text) ?? [];
  return apiVersion === undefined || uid === undefined ? undefined : { apiVersion, uid };
}
