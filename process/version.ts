// Which release this is, from package.json.
import { readFileSync } from 'node:fs';

let ownVersion: string | undefined;

/** The version of this program (Semantic Versioning), read once. */
export function version(): string {
  ownVersion ??= readVersion();
  return ownVersion;
}

function readVersion(): string {
  // Compiled files are one folder deeper than their sources.
  const manifest =
    JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string };
  return manifest.version;
}
