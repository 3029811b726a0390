// What krew asks of a plugin's manifest (krew `internal/index/validation/validate.go`, `internal/installation`), for
// tests of ours.

/** A manifest as far as the rules look at it. */
export interface KrewManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly version?: string;
    readonly shortDescription?: string;
    readonly platforms: readonly KrewPlatform[];
  };
}

/** One archive, and where it is for. */
export interface KrewPlatform {
  readonly selector?: {
    readonly matchExpressions?: readonly {
      readonly key: string; readonly operator: string; readonly values?: readonly string[]
    }[]
  };
  readonly uri?: string;
  readonly sha256?: string;
  readonly bin?: string;
  readonly files?: readonly { readonly from: string; readonly to: string }[];
}

/**
 * Names of the fields that krew would not take in a manifest of this file name, in its own order; none when it is
 * right.
 */
export function brokenKrewRules(fileName: string, { apiVersion, kind, metadata, spec }: KrewManifest): string[] {
  const rules: readonly (readonly [field: string, holds: boolean])[] = [
    ['apiVersion', apiVersion === 'krew.googlecontainertools.github.com/v1alpha2'],
    ['kind', kind === 'Plugin'],
    ['name', metadata.name === fileName && /^[\w-]+$/.test(fileName)],
    ['shortDescription', /^[^\r\n]+$/.test(spec.shortDescription ?? '')],
    ['platforms', spec.platforms.length > 0],
    ['version', /^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(spec.version ?? '')],
  ];
  const broken = [...rules, ...spec.platforms.flatMap(platformRules)].filter(([, holds]) => !holds);
  return [...new Set(broken.map(([field]) => field))];
}

function platformRules({ selector, uri = '', sha256 = '', bin = '', files }: KrewPlatform): (
  readonly [field: string, holds: boolean]
)[] {
  const terms = selector?.matchExpressions ?? [];
  return [
    ['uri', /^https:\/\/\S+\.(tar\.gz|zip)$/.test(uri)],
    ['sha256', /^[a-f0-9]{64}$/.test(sha256)],
    ['bin', bin !== '' && !bin.startsWith('/') && !bin.split('/').includes('..')],
    ['files', files === undefined || (files.length > 0 && files.every(({ from, to }) => from !== '' && to !== ''))],
    ['selector', terms.length > 0 && terms.every(({ key }) => key === 'os' || key === 'arch')],
  ];
}
