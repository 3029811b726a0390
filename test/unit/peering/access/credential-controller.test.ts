// Renewal of tokens against two clusters in memory: which Secret, over which connection, and what is left alone.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import type { Target, ClusterTarget } from '../../../../api/kinds/cluster-target.ts';
import { SECRETS, SERVICE_ACCOUNTS } from '../../../../api/resource-types.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { targetKey, targetRefOf, type TargetRef } from '../../../../model/naming/target-ref.ts';
import { startCredentials } from '../../../../peering/access/credential-controller.ts';
import {
  sourceSideManifests, targetKubeconfig, type Peering,
} from '../../../../peering/access/target-access.ts';
import type { TargetClusters } from '../../../../targets/target-clusters.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const peering: Peering = { name: 'eu', sourceId: '0123abcd', installNamespace: 'isthmus-system' };
const token = (issued: number, seconds: number) => `x.${Buffer.from(JSON.stringify(
  { iat: NOW / 1_000 + issued, exp: NOW / 1_000 + issued + seconds, 'kubernetes.io': { namespace: 'x' } },
)).toString('base64url')}.s`;
const OLD = token(-90_000, 100_000);

interface World {
  readonly of?: Partial<Peering>;
  readonly token?: string;
  readonly spec?: object;
  readonly hasSession?: boolean;
}

/** A source with one target whose session has just opened; resolves once the target was looked at. */
async function looked(t: TestContext, { of = {}, token: before = OLD, spec, hasSession = true }: World, change: (
  source: MemoryCluster, target: MemoryCluster,
) => void = () => undefined) {
  const peered = { ...peering, ...of };
  const kubeconfig = targetKubeconfig(peered, { server: 'https://eu.example', token: before });
  const manifests = sourceSideManifests(peered, kubeconfig);
  const source = new MemoryCluster(
    ...manifests.filter(({ kind }) => kind === 'Secret').map((secret) => [SECRETS, secret] as const),
  );
  const account = { namespace: of.namespace ?? 'isthmus-system', name: 'eu-0123abcd' };
  const target = new MemoryCluster([SERVICE_ACCOUNTS, { metadata: account }]);
  change(source, target);
  const ref: TargetRef = targetRefOf(peered);
  const object = { metadata: { name: 'eu' }, spec: spec ?? (manifests.at(-1) as ClusterTarget | Target).spec };
  const stop = new AbortController();
  t.after(() => stop.abort());
  let open: (of: object) => void = () => undefined;
  const entry = { ref, key: targetKey(ref), ...(hasSession && { session: { client: target.client } }) };
  const targets = {
    untilSynced: () => Promise.resolve(), get: () => entry, object: () => object,
    listen: ({ sessionOpened }: { readonly sessionOpened: (of: object) => void }) => (open = sessionOpened),
  } as unknown as TargetClusters;
  const settled = untilQuiet([source, target]);
  const failures: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => failures.push(line) });
  startCredentials({
    source: source.client, targets, installNamespace: 'isthmus-system', logger, now: () => NOW,
  }, stop.signal);
  open({ key: entry.key });
  await settled;
  return { source, target, failures, token: storedToken(source, account.namespace) };
}

/** Resolves once no call was made for two turns of the event loop. */
function untilQuiet(clusters: readonly MemoryCluster[]): Promise<void> {
  return new Promise((resolve) => {
    let last: NodeJS.Immediate | undefined;
    const again = (turns: number) => {
      clearImmediate(last);
      last = setImmediate(() => (turns === 0 ? resolve() : again(turns - 1)));
    };
    for (const cluster of clusters) {
      const { before: refuse } = cluster;
      cluster.before = (call) => {
        again(2);
        return refuse(call);
      };
    }
    again(4);
  });
}

function storedToken(source: MemoryCluster, namespace: string): unknown {
  const { data } = source.find(SECRETS, 'eu-kubeconfig', namespace)!;
  const text = Buffer.from((data as { readonly config: string }).config, 'base64').toString('utf8');
  const { users } = parse(text) as { readonly users: readonly { readonly user: { readonly token: string } }[] };
  return users[0]?.user.token;
}

describe('the token of a target', () => {
  it('is renewed over the connection that it authenticates, and nothing else of its kubeconfig changes', async (t) => {
    const { source, target, token: next } = await looked(t, {});
    assert.equal(next, 'token of isthmus-system/eu-0123abcd');
    assert.deepEqual(target.writes, ['POST /api/v1/namespaces/isthmus-system/serviceaccounts/eu-0123abcd/token']);
    assert.deepEqual(source.writes, ['PATCH /api/v1/namespaces/isthmus-system/secrets/eu-kubeconfig']);
  });

  it('of a Target is in its namespace', async (t) => {
    const { token: next } = await looked(t, { of: { namespace: 'shop' } });
    assert.equal(next, 'token of shop/eu-0123abcd');
  });

  type Kept = World & {
    readonly fails?: true; readonly change?: (source: MemoryCluster, target: MemoryCluster) => void
  };
  const kept: Record<string, Kept> = {
    'that is fresh': { token: token(-60, 86_400) },
    'of a target without a kubeconfig: the cluster itself': { spec: { self: true } },
    'of a target without a session': { hasSession: false, fails: true },
    'in a Secret that peering did not write': { change: (source) => {
      const { metadata, ...rest } = source.find(SECRETS, 'eu-kubeconfig', 'isthmus-system')!;
      source.put(SECRETS, { ...rest, metadata: { ...metadata, annotations: {} } });
    } },
    'in a Secret that we may not read: its owner renews it': { change: (source) => {
      source.before = () => new ApiError(403, 'Forbidden', 'no');
    } },
    'that the target does not renew': { fails: true, change: (_source, target) => {
      target.before = () => new ApiError(403, 'Forbidden', 'no');
    } },
  };
  for (const [what, { change, fails = false, ...world }] of Object.entries(kept)) {
    it(`${what} is not written, and is ${fails ? '' : 'not '}tried again`, async (t) => {
      const { source, failures, token: after } = await looked(t, world, change);
      assert.deepEqual([source.writes, after], [[], world.token ?? OLD]);
      assert.equal(failures.length > 0, fails, failures.join());
    });
  }

  const later: Record<string, (source: MemoryCluster) => () => void> = {
    'that peering writes into a Secret of somebody else, whose session goes on': (source) => {
      const secret = source.find(SECRETS, 'eu-kubeconfig', 'isthmus-system')!;
      source.put(SECRETS, { ...secret, metadata: { ...secret.metadata, annotations: {} } });
      return () => source.put(SECRETS, secret);
    },
    'in a Secret that we may read only later': (source) => {
      const { before } = source;
      source.before = () => new ApiError(403, 'Forbidden', 'no');
      return () => (source.before = before);
    },
  };
  for (const [what, change] of Object.entries(later)) it(`${what} is renewed when it is looked at again`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let peered: () => void = () => undefined;
    const { source, token: before } = await looked(t, {}, (inSource) => (peered = change(inSource)));
    assert.equal(before, OLD);
    peered();
    const settled = untilQuiet([source]);
    t.mock.timers.tick(300_000);
    await settled;
    assert.equal(storedToken(source, 'isthmus-system'), 'token of isthmus-system/eu-0123abcd');
  });

  it('that is due as soon as it is issued, by a clock ahead of the target, is not renewed again at once', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const ahead = token(-400, 600);
    let issued = 0;
    const { source, token: next } = await looked(t, {}, (_source, target) => {
      target.client.post = <T>() => {
        issued += 1;
        return Promise.resolve({ status: { token: ahead, expirationTimestamp: '' } } as T);
      };
    });
    const settled = untilQuiet([source]);
    t.mock.timers.tick(1_000);
    await settled;
    assert.deepEqual([next, issued], [ahead, 1]);
  });

  it('is not written over a Secret that was changed meanwhile', async (t) => {
    const { source } = await looked(t, {}, (inSource, target) => {
      target.before = () => {
        const secret = inSource.find(SECRETS, 'eu-kubeconfig', 'isthmus-system')!;
        inSource.put(SECRETS, { ...secret, type: 'changed' } as KubernetesObject);
        return undefined;
      };
    });
    assert.deepEqual(source.writes, []);
    assert.equal(source.find(SECRETS, 'eu-kubeconfig', 'isthmus-system')?.['type'], 'changed');
  });
});
