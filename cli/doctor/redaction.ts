// Redacts support archives: contents of Secrets, tokens, private keys, and environments of users' pods. Recognizable
// secrets are removed wherever they occur; others by the field that holds them. Pure.
import { isRecord } from '../../model/objects/json-values.ts';

const REDACTED = '[redacted]';
/** JSON Web Tokens and JWEs: at least three parts of base64url, the first of which begins with `{"`. */
const JSON_WEB_TOKEN = /eyJ[\w-]{5,}\.[\w-]*\.[\w-]+(?:\.[\w-]*)*/g;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;
const BEARER = /\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi;
/** Names that mark their value as secret in URLs, arguments and log lines: `password=…`, `"token":"…"`. */
const NAMED_SECRET =
  /((?:password|passwd|secret|token|api[-_]?key|credential)[\w-]*["']?\s*[=:]\s*["']?)([^\s"',&}]{6,})/gi;
/** What comes before the host in a URL: a password with or without a user, or a token. */
const USER_INFO = /(\w+:\/\/)[^\s/@"']+@/g;
/** The unguessable segment of a webhook's path: API servers quote it when a call fails. */
const SECRET_SEGMENT = /\/[0-9a-f]{48}(?=\/)/g;
/** Copies of whole objects in annotations are removed: the values are elsewhere in the archive. */
const WHOLE_OBJECTS = /(?:sourcepod-manifest|sourcepod-signature|last-applied-configuration|carried-changes)$/;
/** Lists of pods whose entries have a name, and a value that may be secret. */
const NAMED_VALUES: ReadonlySet<string> = new Set(['env', 'httpHeaders']);
/** What a JSON patch of delegates changes of the same, or of command lines. */
const SECRET_PATH = /\/(?:env|httpHeaders|args|command)(?:\/|$)/;
const SECRET_FIELDS: ReadonlySet<string> =
  new Set(['token', 'access', 'password', 'bearer', 'privateKey', 'client-key-data', 'client-certificate-data']);

/** A text without recognizable secrets. */
export function redactedText(text: string): string {
  return text
    .replace(PRIVATE_KEY, REDACTED)
    .replace(JSON_WEB_TOKEN, REDACTED)
    .replace(BEARER, `$1 ${REDACTED}`)
    .replace(SECRET_SEGMENT, `/${REDACTED}`)
    .replace(USER_INFO, `$1${REDACTED}@`)
    .replace(NAMED_SECRET, `$1${REDACTED}`);
}

/** An object without its secrets; keys stay, for they are what one looks for. */
export function redactedObject(object: unknown): unknown {
  // ConfigMaps, too: their contents belong to users
  return isRecord(object) && (object['kind'] === 'Secret' || object['kind'] === 'ConfigMap')
    ? { ...redacted({ ...object, data: undefined, stringData: undefined }), data: names(object['data']) }
    : redacted(object);
}

function names(data: unknown): Readonly<Record<string, string>> {
  return isRecord(data) ? Object.fromEntries(Object.keys(data).map((key) => [key, REDACTED])) : {};
}

function redacted(value: unknown): Readonly<Record<string, unknown>>;
function redacted(value: unknown): unknown {
  if (typeof value === 'string') return redactedText(value);
  if (Array.isArray(value)) return value.map((one) => redacted(one));
  if (!isRecord(value)) return value;
  const { path } = value;
  const known = typeof path === 'string' && SECRET_PATH.test(path) ? withoutValue(value) : value;
  return Object.fromEntries(Object.entries(known).filter(([, field]) => field !== undefined).map(
    ([key, field]) => [key, redactedField(key, field)],
  ));
}

function redactedField(key: string, value: unknown): unknown {
  if (NAMED_VALUES.has(key) && Array.isArray(value)) return value.map((one) => withoutValue(one));
  if (key === 'args' || key === 'command') return Array.isArray(value) ? value.map(() => REDACTED) : value;
  if (SECRET_FIELDS.has(key) && typeof value === 'string') return REDACTED;
  return WHOLE_OBJECTS.test(key) && typeof value === 'string' ? REDACTED : redacted(value);
}

function withoutValue<T>(variable: T): T {
  return isRecord(variable) && 'value' in variable ? { ...variable, value: REDACTED } : variable;
}
