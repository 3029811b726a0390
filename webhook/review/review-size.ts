// How much JSON a review may be made of. Bytes cost little: it is the number of values and their depth by which a body of some megabytes keeps the
// process busy for a second. Counted before anything is parsed, for what is parsed by then has cost its time. Pure.

/** Ten times what the largest pods have, and what is read in some 30 ms: 16,000 environment variables, or 12,000 with the record of who manages them. */
export const MAX_VALUES = 50_000;
/** Kubernetes' own kinds are some twenty levels deep. */
export const MAX_DEPTH = 200;
/** Shorter texts cannot cost much. */
const LOOK_FROM = 16 * 1024;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** What there is too much of in a text that is JSON; undefined where nothing is. Whether it is JSON is not looked at. */
export function excessOf(text: string): string | undefined {
  if (text.length < LOOK_FROM) return undefined;
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

/** Index of the quote that ends the text which begins at `from`; behind everything where none does. */
function endOfText(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (at - backslashes > from && text.charCodeAt(at - backslashes - 1) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}

/** How an API server's review begins: its uid comes before the object. */
const FRAME = /^\{"kind":"AdmissionReview","apiVersion":"(admission\.k8s\.io\/v1(?:beta1)?)","request":\{"uid":"([0-9A-Za-z-]{1,128})"/;

/** Version and uid of a review that is not to be parsed; undefined where no API server wrote it. */
export function frameOf(text: string): { readonly apiVersion: string; readonly uid: string } | undefined {
  const [, apiVersion, uid] = FRAME.exec(text) ?? [];
  return apiVersion === undefined || uid === undefined ? undefined : { apiVersion, uid };
}
