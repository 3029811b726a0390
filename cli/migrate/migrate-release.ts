// Admiralty's CRDs must outlive its release: deleting them deletes all their objects, and with PodChaperons the running
// pods.
import { ADMIRALTY_GROUP, type ResourceType } from '../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../api/resource-types.ts';
import type { Secret, StringMap } from '../../api/objects/core.ts';
import { AppError } from '../../process/errors.ts';
import {
  holdsAdmiralty, KEEP, withKeepPolicy, lacksKeepPolicy, readRelease, RELEASE_STORES, RESOURCE_POLICY, writeRelease,
  type ReleaseStore,
} from '../clusters/helm-release.ts';
import type { Migration } from './migration.ts';

/** Label of what Helm stores releases in. */
const RELEASES = 'owner=helm';
/** Helm's annotation of all that it installs. */
const RELEASE_NAME = 'meta.helm.sh/release-name';
/** Where the original release is backed up. */
const BEFORE = 'release.before-migration';

/** Annotates the live CRDs (for `helm upgrade`) and the stored releases (for `helm uninstall`), then verifies both. */
export async function keepCrds(migration: Migration): Promise<void> {
  const { client, installation, signal, tell } = migration;
  const roles = [installation.sourceRole, installation.summaryViewerRole];
  for (const { metadata } of await definitionsOf(migration)) {
    if (metadata.annotations?.[RESOURCE_POLICY] === KEEP) continue;
    await client.patch(
      CUSTOM_RESOURCE_DEFINITIONS, { name: metadata.name ?? '' },
      { patchType: 'merge', patch: { metadata: { annotations: { [RESOURCE_POLICY]: KEEP } } } }, signal,
    );
  }
  const releases = await releasesOf(migration, roles);
  for (const { store, metadata: { namespace, name = '', resourceVersion }, data, release } of releases) {
    if (lacksKeepPolicy(release, roles).length === 0) continue;
    const patch = {
      metadata: { resourceVersion },
      data: {
        release: writeRelease(withKeepPolicy(release, roles), store), [BEFORE]: data[BEFORE] ?? data['release'],
      },
    };
    await client.patch(store, { namespace, name }, { patchType: 'merge', patch }, signal);
    tell(
      `  ${namespace}/${name}: an uninstall keeps CRDs and roles of sources, and runs no hooks`,
    );
  }
  warnOfUnstored(migration, releases.map(({ metadata }) => metadata.labels?.['name']));
  await requireKept(migration, roles);
}

/** Helm may store releases in a database (HELM_DRIVER=sql), where nothing can be marked. */
function warnOfUnstored({ installation, tell }: Migration, stored: readonly (string | undefined)[]): void {
  const unstored = [...installation.deployments.values()].map(({ metadata }) => metadata.annotations?.[RELEASE_NAME])
    .find((name) => name !== undefined && !stored.includes(name));
  if (unstored !== undefined) tell(
    `  warning: release ${unstored} of Helm is not stored in this cluster. "helm uninstall" would delete the CRDs of ` +
      'Admiralty, and all pods that run for others with them: delete its other objects by hand instead',
  );
}

async function requireKept(migration: Migration, roles: readonly string[]): Promise<void> {
  const unmarked = (await definitionsOf(migration))
    .filter(({ metadata }) => metadata.annotations?.[RESOURCE_POLICY] !== KEEP)
    .map(({ metadata }) => metadata.name ?? '');
  const inReleases = (await releasesOf(migration, roles)).flatMap(({ release }) => lacksKeepPolicy(release, roles));
  const all = [...unmarked, ...inReleases];
  if (all.length > 0) throw new AppError(
    'StillInUse',
    `An uninstall of Admiralty would delete ${all.join(', ')}, and with them all pods that run for others. Run this ` +
      'command again.',
  );
}

/** Restores releases as Helm wrote them; the annotation on live CRDs stays, because it is still needed. */
export async function restoreReleases(migration: Migration): Promise<void> {
  const { client, signal } = migration;
  for (const { store, metadata: { namespace, name = '', resourceVersion }, data } of await storedReleases(migration)) {
    const before = data[BEFORE];
    if (before === undefined) continue;
    await client.patch(
      store, { namespace, name },
      { patchType: 'merge', patch: { metadata: { resourceVersion }, data: { release: before, [BEFORE]: null } } },
      signal,
    );
  }
}

async function definitionsOf({ client, signal }: Migration) {
  return (await client.list(CUSTOM_RESOURCE_DEFINITIONS, {}, signal)).filter(
    ({ metadata }) => metadata.name?.endsWith(`.${ADMIRALTY_GROUP}`) === true,
  );
}

async function releasesOf(migration: Migration, roles: readonly string[]) {
  return (await storedReleases(migration)).flatMap((stored) => {
    const release = readRelease(stored.data['release'] ?? '', stored.store);
    return release !== undefined && holdsAdmiralty(release, roles) ? [{ ...stored, release }] : [];
  });
}

/** All releases of Helm, whoever made them. */
async function storedReleases({ client, signal }: Migration): Promise<readonly (
  Pick<Secret, 'metadata'> & { readonly store: ReleaseStore; readonly data: StringMap }
)[]> {
  const lists = await Promise.all(RELEASE_STORES.map(async (store) => (
    await client.list(store as ResourceType<Secret>, { labelSelector: RELEASES }, signal)
  ).map(({ metadata, data = {} }) => ({ store, metadata, data }))));
  return lists.flat();
}
