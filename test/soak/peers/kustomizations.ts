// `npm run soak -- kustomizations -- PROGRAM DEFINITIONS…`: Flux's own kustomize-controller, built elsewhere, delivers
// to targets by what `isthmus export flux` prints, while the credentials of one are replaced. PROGRAM is the
// controller, DEFINITIONS the folders with the definitions of its kinds and those of source-controller.
// Prints its figures as JSON; fails when something is not delivered, or stays.
import assert from 'node:assert/strict';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { CONFIG_MAPS, NAMESPACES } from '../../../api/resource-types.ts';
import { isthmus } from '../../support/processes/command-line.ts';
import {
  addToArgo, discover, kubectlOf, makeRegistryNamespace, startDiscoveryWorld, untilReady,
} from '../../support/worlds/discovery-world.ts';
import { eventually } from '../../support/history/eventually.ts';
import { FLUX, ServedSource, startFlux } from '../../support/peers/real-flux.ts';
import { KUSTOMIZATIONS } from '../../support/peers/registry-crds.ts';
import { RotatedAccess } from '../../support/worlds/rotated-access.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';

const [program, ...definitions] = process.argv.slice(2);
if (program === undefined || definitions.length === 0) {
  process.stderr.write(
    'This needs a real Flux, which is not in this repository: give its kustomize-controller, and the folders with ' +
      'its definitions and those of source-controller.\n',
  );
  process.exit(1);
}

const TIMEOUT_MS = 90_000;
const SHOP = 'shop';
type Text = KubernetesObject & { readonly data?: Readonly<Record<string, string>> };

const world = await startDiscoveryWorld(2);
const kubectl = await kubectlOf(world);
try {
  for (const folder of definitions) await kubectl(['apply', '--server-side', '-f', folder]);
  await eventually('kinds are served', () => kubectl(['wait', '--for', 'condition=Established', 'crd', '--all']));
  await kubectl(['create', 'namespace', FLUX]);
  for (const { client } of world.targets) await client.create(NAMESPACES, { metadata: { name: SHOP } });
  await makeRegistryNamespace(world, 'argocd');
  await discover(world, 'argo', { from: { argoCD: {} }, namespaces: ['argocd'], target: { delegation: 'Pod' } });
  const access = await RotatedAccess.begin(world);
  await addToArgo(world, 1, { name: 'us-east', labels: {} });
  await Promise.all([untilReady(world, 'eu-west'), untilReady(world, 'us-east')]);
  const delivered = await Promise.all(world.targets.map(({ client }) =>
    new WatchedCollection<Text>(client, CONFIG_MAPS, { namespace: SHOP }).start(world.signal)));
  const source = await ServedSource.start(world.source);
  const controller = await startFlux(world, program);
  try {
    const publish = async (version: string | undefined): Promise<number> => {
      const began = performance.now();
      const kept = version === undefined ? [] : [{ name: 'web/web.yaml', text: configMap('web', version) }];
      await source.publish([...kept, { name: 'web/kept.yaml', text: configMap('kept', '1') }]);
      await Promise.all(delivered.map((maps, index) => maps.until(
        `target ${index} has version ${version}`,
        (all) => all.find(({ metadata }) => metadata.name === 'web')?.data?.['version'] === version
          && all.some(({ metadata }) => metadata.name === 'kept'),
        TIMEOUT_MS,
      )));
      return Math.round((performance.now() - began) / 100) / 10;
    };
    const { kubeconfigPath } = world.sandbox.clusters[0]!;
    const { stdout, stderr } = await isthmus(
      'export', 'flux', '--source', `GitRepository/${source.name}`, '--path', './web', '--to-namespace', SHOP,
      '--kubeconfig', kubeconfigPath,
    );
    assert.equal(stderr, '');
    await kubectl(['apply', '-f', '-'], stdout);
    const made = await publish('1');
    for (let count = 0; count < 2; count += 1) await access.rotate();
    const changed = await publish('2');
    const pruned = await publish(undefined);
    const states = await world.source.list(KUSTOMIZATIONS, {});
    process.stdout.write(`${JSON.stringify({
      kustomizations: states.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
      rotations: access.rotations, seconds: { made, changed, pruned },
    }, undefined, 2)}\n`);
  } finally {
    source.stop();
    await controller.stop();
  }
} finally {
  await world.stop();
}

function configMap(name: string, version: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {version: "${version}"}\n`;
}
