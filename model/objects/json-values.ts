// JSON values whose shape is not known yet: it is checked before they are used.

/** Whether a value is an object and not a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The value of a JSON text; undefined, which no JSON text means, for any other text. Empty text, the default for a
 * missing annotation, is handled first: an exception costs as much as parsing a kilobyte.
 */
export function parsedJson(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Whether two values that came from JSON are equal; the order of keys does not matter. Several times as fast as
 * node:util's comparison, which knows maps, prototypes and more.
 */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) return Array.isArray(other) && isSameList(one, other);
  return isRecord(one) && isRecord(other) && isSameRecord(one, other);
}

// without lists of names and closures: they would be most of the garbage of comparing a thousand summaries
function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index += 1) if (!isSameJson(one[index], other[index])) return false;
  return true;
}

function isSameRecord(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): boolean {
  for (const name in one) if (!Object.hasOwn(other, name) || !isSameJson(one[name], other[name])) return false;
  for (const name in other) if (!Object.hasOwn(one, name)) return false;
  return true;
}

/** The value without fields that are null: to Kubernetes they are not set. Elements of lists stay. */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map((element: unknown) => withoutNulls(element)) as T & unknown[];
  if (!isRecord(value)) return value;
  const set = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(set.map(([name, field]) => [name, withoutNulls(field)])) as T & object;
}

/** The object of a JSON text; an empty one for any other text. */
export function parsedRecord(text: string): Readonly<Record<string, unknown>> {
  const value = parsedJson(text);
  return isRecord(value) ? value : {};
}

/** The claims of a JWT (RFC 7519), not verified; none for any other text. */
export function unverifiedClaims(token: string): Readonly<Record<string, unknown>> {
  return parsedRecord(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
}

/** The texts in a list; none for any other value. */
export function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
