// What targets are published as, spelled out: NAME.input.yaml is a ClusterTarget, and what is known of its session;
// NAME.output.yaml its ClusterProfile. `npm run update-golden` writes the outputs anew; read a change of them before it
// is committed.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import type { ClusterTarget } from '../../../../api/kinds/cluster-target.ts';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { environment } from '../../../../process/config.ts';
import type { ServerEndpoint } from '../../../../kubernetes/credentials/server-endpoint.ts';
import { toProperties } from '../../../../scheduler/publishing/cluster-profile.ts';
import { kubeconfigSecretRef } from '../../../../targets/access/target-kubeconfig.ts';
import { explainFailure, unavailable } from '../../../../targets/availability.ts';
import { toTargetObject } from '../../../../targets/target-object.ts';
import { settled } from '../../../support/objects/published-profiles.ts';

// Compiled tests are one folder deeper than their sources.
const FOLDER = join(import.meta.dirname, '..', '..', '..', '..', '..', 'test', 'golden', 'inventory');
const names = readdirSync(FOLDER).filter((file) => file.endsWith('.input.yaml'))
  .map((file) => file.replace('.input.yaml', '')).toSorted();
const textOf = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

/** What is known of a session. */
interface Session {
  readonly server?: string;
  readonly certificateAuthority?: string;
  readonly serverName?: string;
  readonly isDirect?: boolean;
  readonly credentials?: ServerEndpoint['credentials'];
  /** Why the target is unavailable; of a connection that failed when it is `failed`. */
  readonly unavailable?: string;
  readonly properties?: readonly KubernetesObject[];
}

function published(text: string): string {
  const [object, session = {}] = parseAllDocuments(text).map((document) => document.toJS() as unknown);
  const { ref, uid, labels, spec, status } = toTargetObject(object as ClusterTarget);
  const { server, credentials = 'token', isDirect = true, unavailable: reason, properties = [], ...tls } =
    session as Session;
  const { profile } = settled({
    name: ref.name, uid, labels, spec, clusterId: status.clusterID,
    availability: reason === undefined
      ? { kind: 'ready' }
      : reason === 'failed'
        ? explainFailure(new Error('connect ECONNREFUSED'), { isTenantOwned: false, isApiServer: true })
        : unavailable(reason, 'why it is'),
    isSynced: true, properties: toProperties(properties), secretRef: kubeconfigSecretRef(ref, spec, 'isthmus-system'),
    endpoint: server === undefined ? undefined : { server: new URL(server), isDirect, credentials, ...tls },
  }, undefined);
  return stringify(profile, { lineWidth: 0, aliasDuplicateObjects: false });
}

describe('golden profiles', () => {
  it('are each with its output', () => {
    assert.ok(names.length >= 7, String(names.length));
    if (environment().updateGolden) return;
    const outputs = readdirSync(FOLDER).filter((file) => file.endsWith('.output.yaml'));
    assert.deepEqual(outputs.toSorted(), names.map((name) => `${name}.output.yaml`).toSorted());
  });

  for (const name of names) {
    const input = textOf(`${name}.input.yaml`);
    it(`${name}: ${input.split('\n')[0]?.replace(/^# /, '')}`, () => {
      const text = published(input);
      if (environment().updateGolden) writeFileSync(join(FOLDER, `${name}.output.yaml`), text);
      assert.equal(text, textOf(`${name}.output.yaml`));
    });
  }
});
