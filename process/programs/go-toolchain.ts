// Inputs of a Go build: the platform, the module's files, and a suitable Go.
import { createHash } from 'node:crypto';

/** Cache key of built programs: 16 hexadecimal digits over the module's files (name and text) and the platform. */
export function binariesKey(files: Readonly<Record<string, string>>, platform: string): string {
  const hash = createHash('sha256').update(platform);
  for (const name of Object.keys(files).toSorted()) hash.update(`\0${name}\0${files[name]}`);
  return hash.digest('hex').slice(0, 16);
}

/** Go's name of a Node platform: `linux/amd64` for `linux` and `x64`. */
export function goPlatform(platform: string, arch: string): string {
  const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };
  return `${platform === 'win32' ? 'windows' : platform}/${architectures[arch] ?? arch}`;
}

/** A parsed Go version. */
export type GoVersion = readonly [major: number, minor: number];

/** The version in the output of `go version`, or in a `go` line of a go.mod. */
export function parseGoVersion(text: string): GoVersion | undefined {
  const found = /\bgo ?(\d+)\.(\d+)/.exec(text);
  return found === null ? undefined : [Number(found[1]), Number(found[2])];
}

const isOlder = (left: GoVersion, right: GoVersion): boolean =>
  left[0] < right[0] || (left[0] === right[0] && left[1] < right[1]);

/** The first Go that downloads the newer toolchain that a module requires. */
const selfUpdating: GoVersion = [1, 21];

/**
 * Why this Go cannot build the module; undefined if it can. `toolchain` is `go env GOTOOLCHAIN`: with `local`, Go never
 * downloads a newer one.
 */
export function goVersionProblem(installed: GoVersion, wanted: GoVersion, toolchain: string): string | undefined {
  if (!isOlder(installed, wanted)) return undefined;
  const has = `Go ${installed.join('.')} is installed`;
  if (isOlder(installed, selfUpdating)) {
    return `${has}, and Go ${selfUpdating.join('.')} or newer is needed: install a current one (https://go.dev/dl).`;
  }
  if (toolchain.startsWith('local')) {
    return `${has}, Go ${wanted.join('.')} is needed, and GOTOOLCHAIN=local forbids Go to fetch it: install that ` +
      'version or unset GOTOOLCHAIN.';
  }
  return undefined;
}
