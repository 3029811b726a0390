// All that an API server serves, by its own discovery: what is added later is tried without a word here.
import type { RawApiClient } from '../attackers/raw-api-client.ts';

/** A resource, or a subresource of one. */
export interface ServedResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly subresource?: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

interface Listed {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** Each resource in the version that the server prefers. */
export async function servedResources(client: RawApiClient): Promise<readonly ServedResource[]> {
  const { groups } =
    await client.json<
      { readonly groups: readonly { readonly name: string; readonly preferredVersion: { readonly version: string } }[] }
    >({ method: 'GET', path: '/apis' });
  const all = [{ name: '', preferredVersion: { version: 'v1' } }, ...groups];
  const found = await Promise.all(all.map(async ({ name: group, preferredVersion: { version } }) => {
    const { resources } =
      await client.json<{ readonly resources: readonly Listed[] }>({ method: 'GET', path: rootOf({ group, version }) });
    return resources.map(({ name, kind, namespaced, verbs }): ServedResource => {
      const [plural = '', subresource] = name.split('/');
      return { group, version, plural, kind, namespaced, verbs, ...(subresource !== undefined && { subresource }) };
    });
  }));
  return found.flat();
}

/** Path of a group's version. */
export function rootOf({ group, version }: Pick<ServedResource, 'group' | 'version'>): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** As rules of RBAC name it, its group first: `apps/deployments/scale`. */
export function resourceName(
  { group, plural, subresource }: Pick<ServedResource, 'group' | 'plural' | 'subresource'>,
): string {
  return [...(group === '' ? [] : [group]), plural, ...(subresource === undefined ? [] : [subresource])].join('/');
}
