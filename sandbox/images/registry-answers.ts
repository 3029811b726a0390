// What the sandbox's registry answers to a request of the distribution API (OCI distribution-spec v1.1). Pure.
/** One image of the registry. */
export interface RegistryImage {
  /** Its full name: registry, repository and tag. */
  readonly reference: string;
  readonly manifest: { readonly mediaType: string; readonly digest: string };
  /** `NAME:PASSWORD` without which it is not given out. */
  readonly credentials?: string;
}

/** What is asked for. */
export interface RegistryRequest {
  /** Path and query. */
  readonly target: string;
  readonly authorization: string | undefined;
}

/** An answer; contents are blobs, by their digests. */
export type RegistryAnswer =
  | { readonly kind: 'blob'; readonly digest: string; readonly mediaType: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'refused'; readonly status: 401 | 404; readonly code: string; readonly message: string };

const BLOB = 'application/octet-stream';
const refused = (status: 401 | 404, code: string, message: string): RegistryAnswer =>
  ({ kind: 'refused', status, code, message });

/** An image's name without its tag. */
function repositoryOf({ reference }: RegistryImage): string {
  return reference.slice(0, reference.lastIndexOf(':'));
}

function isGranted({ credentials }: RegistryImage, authorization: string | undefined): boolean {
  return credentials === undefined || authorization === `Basic ${Buffer.from(credentials).toString('base64')}`;
}

/** A tag or a digest of a repository. A digest names any manifest that the repository's images have. */
function manifestAnswer(images: readonly RegistryImage[], repository: string, name: string): RegistryAnswer {
  const found = images.find((image) => image.reference === `${repository}:${name}` || image.manifest.digest === name);
  if (found === undefined) return refused(404, 'MANIFEST_UNKNOWN', `${repository} has no ${name}`);
  return { kind: 'blob', digest: found.manifest.digest, mediaType: found.manifest.mediaType };
}

/**
 * Answers a request. A node asks this registry in place of every other one, and says with the parameter `ns` which was
 * meant.
 */
export function answerRegistry(
  images: readonly RegistryImage[], { target, authorization }: RegistryRequest,
): RegistryAnswer {
  const { pathname, searchParams } = new URL(target, 'http://registry');
  if (pathname === '/v2/') return { kind: 'empty' };
  const [, path = '', kind = '', name = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
  const repository = `${searchParams.get('ns') ?? ''}/${path}`;
  const own = images.filter((image) => repositoryOf(image) === repository);
  if (own.length === 0) return refused(404, 'NAME_UNKNOWN', `there is no repository ${repository}`);
  if (!own.some((image) => isGranted(image, authorization))) {
    return refused(401, 'UNAUTHORIZED', `${repository} wants credentials`);
  }
  if (kind === 'manifests') return manifestAnswer(own, repository, name);
  return { kind: 'blob', digest: name, mediaType: BLOB };
}
