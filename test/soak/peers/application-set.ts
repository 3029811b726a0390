// `npm run soak -- application-set -- PROGRAM MANIFESTS`: Argo CD's own ApplicationSet controller, built elsewhere,
// makes Applications where we decide, set up by the commands and manifests of docs/export.md as they stand there.
// PROGRAM is the controller, MANIFESTS the folder `manifests` of the same version of Argo CD.
// Prints its figures as JSON; fails when an Application is missing, points to another cluster, or stays.
import assert from 'node:assert/strict';
import type { PlacementPolicy } from '../../../api/kinds/placement-policy.ts';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import { NAMESPACES, PLACEMENT_POLICIES } from '../../../api/resource-types.ts';
import { isthmus } from '../../support/processes/command-line.ts';
import {
  addToArgo, discover, kubectlOf, makeRegistryNamespace, startDiscoveryWorld, untilReady,
} from '../../support/worlds/discovery-world.ts';
import {
  APPLICATIONS, ARGO_CD, installArgo, startArgo, typeDecisions, type Application,
} from '../../support/peers/real-argo.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';

const [program, manifests] = process.argv.slice(2);
if (program === undefined || manifests === undefined) {
  process.stderr.write(
    'This needs a real Argo CD, which is not in this repository: give the program of its ApplicationSet controller, ' +
      'and its folder "manifests".\n',
  );
  process.exit(1);
}

/** Three times as long as the page lets Argo CD wait between two looks. */
const TIMEOUT_MS = 90_000;
const POLICY = { namespace: 'shop', name: 'region' };
const DECIDED = ['web-eu-west eu-west shop', 'web-us-east us-east shop'];
const EXPORTED = ['isthmus-eu-west eu-west shop', 'isthmus-us-east us-east shop'];

const world = await startDiscoveryWorld(2);
const kubectl = await kubectlOf(world);
const applications = new WatchedCollection(world.source, APPLICATIONS);
try {
  await makeRegistryNamespace(world, ARGO_CD);
  await installArgo(kubectl, manifests);
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  await world.source.create(NAMESPACES, { metadata: { name: POLICY.namespace, labels } });
  await discover(world, 'argo', {
    from: { argoCD: {} }, namespaces: [ARGO_CD], target: { copyLabels: ['region'], delegation: 'Pod' },
  });
  await addToArgo(world, 0, { name: 'eu-west', labels: { region: 'eu' } });
  await addToArgo(world, 1, { name: 'us-east', labels: { region: 'us' } });
  await Promise.all([untilReady(world, 'eu-west'), untilReady(world, 'us-east')]);
  await applications.start(world.signal);
  const controller = await startArgo(world, program);
  try {
    const seconds = { made: 0, moved: 0, joined: 0, gone: 0, exported: 0 };
    await requireRegion('eu');
    seconds.made = await secondsUntil(() => typeDecisions(kubectl), 'web-eu-west eu-west shop');
    seconds.moved = await secondsUntil(() => requireRegion('us'), 'web-us-east us-east shop');
    const [stays] = applications.objects;
    seconds.joined = await secondsUntil(() => world.source.delete(PLACEMENT_POLICIES, POLICY), ...DECIDED);
    assert.equal(applications.get(`${ARGO_CD}/web-us-east`)?.metadata.uid, stays?.metadata.uid);
    seconds.gone = await secondsUntil(() => requireRegion('none'));
    seconds.exported = await secondsUntil(
      async () => kubectl(['apply', '-f', '-'], await exported()), ...EXPORTED,
    );
    process.stdout.write(`${JSON.stringify({ seconds }, undefined, 2)}\n`);
  } finally {
    await controller.stop();
  }
} finally {
  await world.stop();
}

async function requireRegion(region: string): Promise<void> {
  const policy: PlacementPolicy = { metadata: POLICY, spec: { require: { matchLabels: { region } } } };
  await world.source.apply(PLACEMENT_POLICIES, policy, 'isthmus-test');
}

async function exported(): Promise<string> {
  const words = ['--repo', 'https://git.example/apps', '--to-namespace', POLICY.namespace];
  const { kubeconfigPath } = world.sandbox.clusters[0]!;
  return (await isthmus('export', 'argocd', ...words, '--kubeconfig', kubeconfigPath)).stdout;
}

/**
 * Acts, and resolves once these Applications are there, each as its name, cluster and namespace, and all others are
 * deleted. Argo CD's application controller, which does not run here, then deletes what they have made and lets them
 * go.
 */
async function secondsUntil(act: () => Promise<unknown>, ...wanted: readonly string[]): Promise<number> {
  const began = performance.now();
  const isDeleted = ({ metadata }: Application): boolean => metadata.deletionTimestamp !== undefined;
  const found = (all: readonly Application[]) => all.filter((one) => !isDeleted(one)).map(
    ({ metadata, spec: { destination } }) => `${metadata.name} ${destination.name} ${destination.namespace}`,
  ).toSorted().join();
  await act();
  const all = await applications.until(wanted.join(), (objects) => found(objects) === wanted.join(), TIMEOUT_MS);
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  for (const { metadata: { namespace = '', name = '' } } of all.filter(isDeleted)) {
    await world.source.patch(APPLICATIONS, { namespace, name }, {
      patchType: 'merge', patch: { metadata: { finalizers: null } },
    });
  }
  await applications.until('those that were deleted are gone', (objects) => !objects.some(isDeleted), TIMEOUT_MS);
  return seconds;
}
