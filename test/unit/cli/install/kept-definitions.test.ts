import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { withoutKeptDefinition } from '../../../../cli/install/kept-definitions.ts';
import { openCluster } from '../../../../kubernetes/client/open-cluster.ts';
import { installManifests } from '../../../../manifests/install.ts';
import { customResourceDefinitions, POD_CHAPERON_DEFINITION } from '../../../../manifests/objects/crds.ts';
import { AnsweringApiServer, type Answer } from '../../../support/doubles/answering-api-server.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';

const ours = customResourceDefinitions().find(({ metadata }) => metadata.name === POD_CHAPERON_DEFINITION)!;
const { categories: _ours, ...names } = ours.spec.names;
const foreign = { ...ours, spec: { ...ours.spec, names } };
const objects = installManifests({ installNamespace: 'isthmus-system', webhookUrl: undefined });
const namesOf = (some: readonly KubernetesObject[]) => some.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
const servers: AnsweringApiServer[] = [];
after(async () => void (await Promise.all(servers.map((server) => server.stop()))));

async function left(answer: Answer): Promise<readonly string[]> {
  const server = await AnsweringApiServer.start(() => answer);
  servers.push(server);
  const { client } = await openCluster({ kubeconfigPath: await server.kubeconfig(), userAgent: 'isthmus-test' });
  try {
    return namesOf(await withoutKeptDefinition(client, objects, new AbortController().signal));
  } finally {
    await client.transport.close();
  }
}

describe('the definition of PodChaperons', () => {
  it('is installed where there is none, where it is ours, and where it is of Admiralty before 0.15', async () => {
    const early = { ...foreign, spec: { ...foreign.spec, preserveUnknownFields: true } };
    assert.deepEqual(await left([200, early]), namesOf(objects));
    assert.deepEqual(await left([404, status(404, 'NotFound', 'no')]), namesOf(objects));
    assert.deepEqual(await left([200, ours]), namesOf(objects));
  });

  it("stays where it is Admiralty's, and nothing else does", async () => {
    const all = namesOf(objects);
    assert.ok(all.includes(`CustomResourceDefinition ${POD_CHAPERON_DEFINITION}`));
    assert.deepEqual(
      await left([200, foreign]), all.filter((name) => name !== `CustomResourceDefinition ${POD_CHAPERON_DEFINITION}`),
    );
  });

  it('is not taken for absent where it may not be read', () =>
    assert.rejects(left([403, status(403, 'Forbidden', 'not yours')]), { status: 403 }));
});
