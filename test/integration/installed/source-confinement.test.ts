// What a source may not do in a target, tried with the identities that peering makes, against a real API server:
// secrets, system namespaces, tokens.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import {
  CLUSTER_SOURCES, CONFIG_MAPS, JOIN_REQUESTS, NAMESPACES, POD_CHAPERONS, PODS, SECRETS, SELF_SUBJECT_ACCESS_REVIEWS,
  SERVICES, type SubjectAccessReview,
} from '../../../api/resource-types.ts';
import { PARENT_CLUSTER_LABEL } from '../../../api/objects/keys.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { inviteSource } from '../../../cli/join/invite.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { requestToken } from '../../../kubernetes/client/service-account-token.ts';
import { securityProblems } from '../../../model/pod/pod-security.ts';
import {
  confinedWorld, isDenied, OWN_LABELS, type ConfinedWorld, type Written,
} from '../../support/worlds/confined-world.ts';
import { podsOfAllKinds } from '../../support/objects/pods-of-all-kinds.ts';

const starting = confinedWorld();
let world: ConfinedWorld;

before(async () => {
  world = await starting;
});

const installNamespace = 'isthmus-system';
const SERVICE_ACCOUNT_TOKEN = 'kubernetes.io/service-account-token';
const ACCOUNT_ANNOTATION = { 'kubernetes.io/service-account.name': 'clusterrole-aggregation-controller' };
/** Of another type than the stored one a PUT is refused before admission. Neither answer says what is stored. */
const isRefused = (error: unknown): boolean =>
  error instanceof ApiError && [403, 422].includes(error.status) && !/c2VjcmV0|secret\b.*data/.test(error.message);
const finalizers = ['example.com/stay'];
const secret = (metadata: object, more: object = {}): Written =>
  ({ metadata: { namespace: 'open', name: 'probe', labels: OWN_LABELS, ...metadata }, ...more });

describe('a Secret of a source', () => {
  const refused: Record<string, Written> = {
    'that asks for the token of an account':
      secret({ annotations: ACCOUNT_ANNOTATION }, { type: SERVICE_ACCOUNT_TOKEN }),
    'that asks for one in kube-system':
      secret({ namespace: 'kube-system', annotations: ACCOUNT_ANNOTATION }, { type: SERVICE_ACCOUNT_TOKEN }),
    'that lets somebody join the cluster':
      secret({ namespace: 'kube-system', name: 'bootstrap-token-abcdef' }, { type: 'bootstrap.kubernetes.io/token' }),
    'of a type that nobody knows': secret({}, { type: 'example.com/made-up' }),
    'that names an account though it is Opaque': secret({ annotations: ACCOUNT_ANNOTATION }),
    'that cannot go by itself': secret({ finalizers }),
    'that hangs on something else':
      secret({ ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] }),
    'in the namespace of keys, as key for invitations':
      secret({ namespace: 'isthmus-system-keys', name: 'isthmus-invitation-key' }, { stringData: { key: 'k' } }),
    'in the namespace of discovered targets': secret({ namespace: 'isthmus-system-targets' }),
    'in the install namespace, as key for signatures':
      secret({ namespace: 'isthmus-system', name: 'isthmus-signing-keys' }, { stringData: { key: 'k' } }),
    'of another cluster': secret({ labels: { [PARENT_CLUSTER_LABEL]: 'another' } }),
    'of nobody': secret({ labels: {} }),
  };
  for (const who of ['a peered source', 'a source of Admiralty\'s form'] as const) {
    for (const [what, object] of Object.entries(refused)) {
      // it may write any object that has an owner
      if (who !== 'a peered source' && what.startsWith('of ') && what !== 'of a type that nobody knows') continue;
      it(`C2-16 and C2-17: ${what} is refused to ${who}, dry run or not`, async () => {
        const { client } = world.source(who);
        for (const dryRun of [true, false]) {
          await assert.rejects(world.create(client, SECRETS, object, dryRun), isDenied);
        }
      });
    }
  }

  for (const type of [
    'Opaque', 'kubernetes.io/basic-auth', 'kubernetes.io/ssh-auth', 'kubernetes.io/tls', 'kubernetes.io/dockercfg',
    'kubernetes.io/dockerconfigjson',
  ]) {
    it(`of type ${type} can be made, replaced and deleted`, async () => {
      const { client } = world.source('a peered source');
      const data = {
        username: 'dQ==', 'ssh-privatekey': 'aw==', 'tls.crt': '', 'tls.key': '', '.dockercfg': 'e30=',
        '.dockerconfigjson': 'e30=',
      };
      const made = await world.create(client, SECRETS, secret({ name: 'kept' }, { type, data }), false);
      await world.replace(client, SECRETS, {
        ...secret({ name: 'kept', resourceVersion: made.metadata.resourceVersion }, {
          type, data: { ...data, more: 'bW9yZQ==' },
        }),
      });
      await client.delete(SECRETS, { namespace: 'open', name: 'kept' });
    });
  }
});

describe('a Secret of somebody else', () => {
  const at = { namespace: 'open', name: 'foreign' };
  const token = { namespace: 'kube-system', name: 'a-token' };
  before(async () => {
    await world.create(world.admin, SECRETS, { metadata: at, type: 'Opaque', data: { password: 'c2VjcmV0' } }, false);
    // As one that the token controller has filled in, and that carries the label of the source through somebody's
    // mistake.
    await world.create(
      world.admin, SECRETS,
      {
        metadata: {
          ...token, labels: world.labels('a peered source'),
          annotations: { 'kubernetes.io/service-account.name': 'default' },
        },
        type: SERVICE_ACCOUNT_TOKEN, data: { token: 'c2VjcmV0' },
      },
      false,
    );
  });

  for (const who of ['a peered source', 'a source of Admiralty\'s form'] as const) {
    for (const [what, place] of [['a plain one', at], ['a token with the label of the source', token]] as const) {
      for (const query of [
        'dryRun=All', 'dryRun=All&propagationPolicy=Foreground', 'propagationPolicy=Foreground',
        'propagationPolicy=Orphan', 'gracePeriodSeconds=60',
      ]) {
        it(`C2-16: is not told to ${who} by DELETE ?${query}: ${what}`, async () => {
          const { client } = world.source(who);
          const path = `/api/v1/namespaces/${place.namespace}/secrets/${place.name}?${query}`;
          await assert.rejects(
            client.transport.call({ method: 'DELETE', path }),
            (error) => isDenied(error) && !String(error).includes('c2VjcmV0'),
          );
        });
      }
      it(`C2-16: is not told to ${who} by any other verb: ${what}`, async () => {
        const { client } = world.source(who);
        const path = `/api/v1/namespaces/${place.namespace}/secrets`;
        for (
          const [method, to] of [
            ['GET', `${path}/${place.name}`], ['GET', path], ['GET', `${path}?watch=1&timeoutSeconds=1`],
            ['DELETE', path], ['GET', '/api/v1/secrets'],
          ] as const
        ) {
          await assert.rejects(client.transport.call({ method, path: to }), isDenied, `${method} ${to}`);
        }
        await assert.rejects(client.patch(SECRETS, place, { patchType: 'merge', patch: { immutable: 'x' } }), isDenied);
        for (const type of ['Opaque', SERVICE_ACCOUNT_TOKEN]) {
          await assert.rejects(
            world.replace(client, SECRETS, { metadata: { ...place, labels: world.labels(who) }, type, data: {} }),
            isRefused,
          );
        }
      });
    }
  }
});

describe('system namespaces', () => {
  const objects = [
    [POD_CHAPERONS, {
      spec: { hostPID: true, containers: [{ name: 'c', image: 'i', securityContext: { privileged: true } }] },
    }],
    [SECRETS, {}], [CONFIG_MAPS, { data: { a: 'b' } }], [SERVICES, { spec: { ports: [{ port: 80 }] } }],
  ] as const;
  for (const who of ['a peered source', 'a source of Admiralty\'s form'] as const) {
    for (const namespace of ['kube-system', 'kube-public', 'kube-node-lease', 'isthmus-system']) {
      it(`C2-10: ${namespace} takes nothing from ${who}`, async () => {
        for (const [type, more] of objects) {
          await assert.rejects(
            world.create(
              world.source(who).client, type,
              { metadata: { namespace, name: 'probe', labels: world.labels(who) }, ...more }, true,
            ),
            isDenied, type.kind,
          );
        }
      });
    }
  }

  it('let a source clean up what it had there', async () => {
    const { client } = world.source('a peered source');
    const at = { namespace: 'kube-public', name: 'left' };
    await world.create(
      world.admin, POD_CHAPERONS, { metadata: { ...at, labels: OWN_LABELS }, spec: { containers: [] } }, false,
    );
    await client.patch(POD_CHAPERONS, at, {
      patchType: 'merge',
      patch: { metadata: { annotations: { 'multicluster.admiralty.io/deletion-grace-period-seconds': '1' } } },
    });
    await assert.rejects(
      client.patch(POD_CHAPERONS, at, { patchType: 'merge', patch: { spec: { hostPID: true } } }), isDenied,
    );
    await client.delete(POD_CHAPERONS, at);
  });
});

describe('objects of another source', () => {
  it('are neither changed nor taken over, by a source of either form that is not theirs', async () => {
    const at = { namespace: 'open', name: 'of-another' };
    await world.create(
      world.admin, POD_CHAPERONS,
      { metadata: { ...at, labels: { [PARENT_CLUSTER_LABEL]: 'another' } }, spec: { containers: [] } }, false,
    );
    const { client } = world.source('a peered source');
    for (const patch of [
      { metadata: { labels: OWN_LABELS } }, { metadata: { annotations: { a: 'b' } } }, { spec: { hostPID: true } },
    ]) {
      await assert.rejects(client.patch(POD_CHAPERONS, at, { patchType: 'merge', patch }), isDenied);
    }
    await assert.rejects(client.delete(POD_CHAPERONS, at), isDenied);
  });

  it('may be written by a source that does not say which cluster it is, with a label or without, for nobody knows ' +
    'whose they are', async () => {
    const { client } = world.source('a source of Admiralty\'s form');
    for (const labels of [{}, { [PARENT_CLUSTER_LABEL]: 'mine' }]) {
      const name = `form-${Object.keys(labels).length}`;
      await world.create(
        client, POD_CHAPERONS, { metadata: { namespace: 'open', name, labels }, spec: { containers: [] } }, false,
      );
      await client.patch(POD_CHAPERONS, { namespace: 'open', name }, {
        patchType: 'merge', patch: { metadata: { annotations: { a: 'b' } } },
      });
      await client.delete(POD_CHAPERONS, { namespace: 'open', name });
    }
  });
});

describe('what a source writes besides', () => {
  it('brings no externalIPs', async () => {
    const service = (spec: object) =>
      ({ metadata: { namespace: 'open', name: 'web', labels: OWN_LABELS }, spec: { ports: [{ port: 80 }], ...spec } });
    const { client } = world.source('a peered source');
    await assert.rejects(world.create(client, SERVICES, service({ externalIPs: ['10.0.0.1'] }), true), isDenied);
    await world.create(client, SERVICES, service({}), true);
  });

  it('has no finalizer but those of delegates, and a PodChaperon keeps its own', async () => {
    const { client } = world.source('a peered source');
    const chaperon = (name: string, more: object) =>
      ({ metadata: { namespace: 'open', name, labels: OWN_LABELS, ...more }, spec: { containers: [] } });
    await assert.rejects(world.create(client, POD_CHAPERONS, chaperon('a', { finalizers }), true), isDenied);
    await world.create(
      client, POD_CHAPERONS, chaperon('held', { finalizers: ['multicluster.admiralty.io/chaperon'] }), false,
    );
    const at = { namespace: 'open', name: 'held' };
    await assert.rejects(
      client.patch(POD_CHAPERONS, at, { patchType: 'merge', patch: { metadata: { finalizers: null } } }), isDenied,
    );
    await client.patch(POD_CHAPERONS, at, { patchType: 'merge', patch: { metadata: { annotations: { a: 'b' } } } });
  });

  it('is refused as a candidate for each rule that it breaks, also beside its own label', async () => {
    const { client } = world.source('a peered source');
    const own = { namespace: 'open', name: 'candidate', labels: OWN_LABELS };
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'a' };
    const rows: readonly (readonly [what: string, metadata: object])[] = [
      ['another label', { ...own, labels: { [PARENT_CLUSTER_LABEL]: 'another' } }],
      ['no label', { ...own, labels: {} }],
      ['a finalizer', { ...own, finalizers }], ['an owner', { ...own, ownerReferences: [owner] }],
      ['a system namespace', { ...own, namespace: 'kube-public' }],
    ];
    for (const [what, metadata] of rows) {
      await assert.rejects(
        world.create(client, POD_CHAPERONS, { metadata, spec: { containers: [] } }, true), isDenied, what,
      );
    }
    await world.create(client, POD_CHAPERONS, { metadata: own, spec: { containers: [] } }, true);
  });

  it('is not what administrators are held to', async () => {
    await world.admin.create(NAMESPACES, { metadata: { name: 'by-an-administrator' } });
    await world.create(
      world.admin, SECRETS,
      {
        metadata:
          { namespace: 'kube-system', name: 'x', annotations: { 'kubernetes.io/service-account.name': 'default' } },
        type: SERVICE_ACCOUNT_TOKEN,
      },
      true,
    );
  });
});

describe('tokens that a source mints for itself', () => {
  it('live a day at most', async () => {
    const { client, account } = world.source('a peered source');
    await assert.rejects(requestToken(client, { ...account, seconds: 10 * 365 * 86_400 }, world.signal), isDenied);
    await assert.rejects(requestToken(client, { ...account, seconds: 86_401 }, world.signal), isDenied);
    await requestToken(client, { ...account, seconds: 86_400 }, world.signal);
  });

  it('are of its own account', async () => {
    const { client } = world.source('a peered source');
    await assert.rejects(
      requestToken(
        client, { namespace: 'kube-system', name: 'clusterrole-aggregation-controller', seconds: 600 }, world.signal,
      ),
      isDenied,
    );
  });
});

describe('who holds an invitation', () => {
  let name: string;
  let client: ClusterClient;
  const asked = (at: object, spec: object = {}): Written => ({
    metadata: { namespace: installNamespace, ...at },
    spec: { invitation: name, token: 't', clusterID: 'c', targetName: 'eu', publicKey: '{}', ...spec },
  });
  before(async () => {
    const offer =
      { targetName: 'eu', installNamespace, minutes: 15, needsApproval: true, tokenSeconds: 3_600, namespace: 'open' };
    ({ name } = await inviteSource(world.target, offer, world.signal));
    client = await world.identity({ namespace: installNamespace, name: `isthmus-${name}` });
  });

  it('may ask ten times, for that invitation', async () => {
    for (const wrong of [
      asked({ generateName: 'x-' }), asked({ name: `${name}-10` }), asked({ name: `x${name}-1` }),
      asked({ name: `${name}-1`, finalizers }), asked({ name: `${name}-1` }, { invitation: 'other' }),
    ]) {
      await assert.rejects(world.create(client, JOIN_REQUESTS, wrong, false), isDenied, JSON.stringify(wrong));
    }
    for (let index = 0; index < 10; index += 1) {
      await world.create(client, JOIN_REQUESTS, asked({ name: `${name}-${index}` }), false);
    }
    await assert.rejects(client.get(JOIN_REQUESTS, { namespace: installNamespace, name: 'another-0' }), isDenied);
  });
});

describe('namespaces of the target', () => {
  const own = { namespace: 'shop' };
  const chaperon = (name: string): Written => ({
    metadata: { ...own, name, labels: OWN_LABELS, finalizers: ['multicluster.admiralty.io/chaperon'] },
    spec: { containers: [] },
  });
  const label = (value: string | null) => world.admin.patch(NAMESPACES, { name: 'shop' }, {
    patchType: 'merge', patch: { metadata: { labels: { 'isthmus.dev/sources': value } } },
  });
  const canMake = () => world.create(world.source('a peered source').client, POD_CHAPERONS, chaperon('probe'), true)
    .then(() => true, (error: unknown) => (isDenied(error) ? false : Promise.reject(error)));
  const until = (wanted: boolean) => pollUntil(
    async () => ((await canMake()) === wanted ? true : undefined), { forMs: 60_000, everyMs: 50 }, world.signal,
  );
  const allows = async (name: string) => (await world.admin.get(CLUSTER_SOURCES, { name })).status?.allows;
  before(() => world.makeNamespace('shop'));

  it('that say nothing take nothing of a peered source', async () => {
    const { client } = world.source('a peered source');
    for (
      const [type, more] of [[POD_CHAPERONS, { spec: { containers: [] } }], [CONFIG_MAPS, {}], [SECRETS, {}], [
        SERVICES, { spec: { ports: [{ port: 80 }] } },
      ]] as const
    ) {
      await assert.rejects(
        world.create(client, type, { metadata: { ...own, name: 'probe', labels: OWN_LABELS }, ...more }, true),
        isDenied, type.kind,
      );
    }
  });

  it('take what a source of Admiralty\'s form sends', async () => {
    await world.create(
      world.source('a source of Admiralty\'s form').client, POD_CHAPERONS,
      {
        metadata: { ...own, name: 'probe', labels: world.labels('a source of Admiralty\'s form') },
        spec: { containers: [] },
      },
      true,
    );
    assert.deepEqual(await allows('admiralty-form'), {
      namespaces: 'all but kube-*, isthmus-system, isthmus-system-keys, isthmus-system-targets',
      podSecurity: 'privileged', streams: 'OwnDelegates',
    });
  });

  it('take pods from when they let the source in, by its name or with all, until they no longer do', async () => {
    for (const value of ['all', `other_${world.sourceName}`]) {
      await label(value);
      assert.ok(await until(true), value);
      const shown = async () => ((await allows(world.sourceName))?.namespaces === 'open, shop' ? true : undefined);
      assert.ok(await pollUntil(shown, { forMs: 60_000, everyMs: 50 }, world.signal));
      await label(value === 'all' ? 'none' : null);
      assert.ok(await until(false), value);
    }
  });

  it('let a source delete what it has there, and not change what that runs', async () => {
    const { client } = world.source('a peered source');
    await label('all');
    assert.ok(await until(true));
    await world.create(client, POD_CHAPERONS, chaperon('left'), false);
    await world.create(client, SECRETS, { metadata: { ...own, name: 'left', labels: OWN_LABELS } }, false);
    await label('none');
    assert.ok(await until(false));
    const at = { ...own, name: 'left' };
    await assert.rejects(
      client.patch(POD_CHAPERONS, at, { patchType: 'merge', patch: { spec: { hostPID: true } } }), isDenied,
    );
    await assert.rejects(
      client.patch(POD_CHAPERONS, at, {
        patchType: 'merge', patch: { metadata: { annotations: { 'multicluster.admiralty.io/carried-changes': '{}' } } },
      }),
      isDenied,
    );
    await client.patch(POD_CHAPERONS, at, {
      patchType: 'merge',
      patch: { metadata: { annotations: { 'multicluster.admiralty.io/deletion-grace-period-seconds': '1' } } },
    });
    for (const type of [POD_CHAPERONS, SECRETS]) await client.delete(type, at);
  });

  it('of the system cannot be opened by a label', async () => {
    await world.admin.patch(NAMESPACES, { name: 'kube-public' }, {
      patchType: 'merge', patch: { metadata: { labels: { 'isthmus.dev/sources': 'all' } } },
    });
    await label('all');
    assert.ok(await until(true), 'the label of another namespace has been heard since');
    await assert.rejects(
      world.create(
        world.source('a peered source').client, CONFIG_MAPS,
        { metadata: { namespace: 'kube-public', name: 'probe', labels: OWN_LABELS } }, true,
      ),
      isDenied,
    );
  });
});

describe('the Pod Security Standards as this cluster reads them', () => {
  before(async () => {
    for (const level of ['baseline', 'restricted']) {
      await world.makeNamespace(level, { 'pod-security.kubernetes.io/enforce': level });
    }
  });

  for (const level of ['baseline', 'restricted'] as const) {
    it(`refuse what Pod Security Admission refuses at ${level}, and nothing else`, async () => {
      for (const [what, pod] of podsOfAllKinds()) {
        const body = { metadata: { namespace: level, name: 'probe', annotations: pod.annotations }, spec: pod.spec };
        const admitted = await world.create(world.admin, PODS, body, true)
          .then(() => true, (error: unknown) => (isDenied(error) ? false : Promise.reject(error)));
        assert.equal(
          securityProblems(pod, level).length === 0, admitted, `${what}: ${securityProblems(pod, level).join()}`,
        );
      }
    });
  }
});

describe('streams into pods', () => {
  const spec = { containers: [{ name: 'c', image: 'image.example/c:1' }] };
  const streams =
    [['get', 'log'], ['create', 'exec'], ['get', 'exec'], ['create', 'attach'], ['create', 'portforward']] as const;
  const mayStream = async (client: ClusterClient, name: string): Promise<readonly boolean[]> => Promise.all(streams
    .map(async ([verb, subresource]) => {
    const review = { spec: { resourceAttributes: { verb, resource: 'pods', subresource, namespace: 'open', name } } };
    return (
      await client.create<SubjectAccessReview>(SELF_SUBJECT_ACCESS_REVIEWS, { metadata: {}, ...review })
    ).status?.allowed === true;
  }));
  const until = (client: ClusterClient, name: string, wanted: boolean) =>
    pollUntil(
      async () => ((await mayStream(client, name)).every((allowed) => allowed === wanted) ? true : undefined),
      { forMs: 60_000, everyMs: 50 }, world.signal,
    );
  const make = (name: string, labels: object) =>
    world.create(
      world.source('a peered source').client, POD_CHAPERONS,
      { metadata: { namespace: 'open', name, labels, finalizers: ['multicluster.admiralty.io/chaperon'] }, spec },
      false,
    );
  const ask = (client: ClusterClient, name: string) =>
    client.patch(POD_CHAPERONS, { namespace: 'open', name }, {
      patchType: 'merge',
      patch: { metadata: { annotations: { 'isthmus.dev/streams-asked': new Date().toISOString() } } },
    });

  before(async () => {
    await world.startDelegates();
    await world.create(
      world.admin, PODS, { metadata: { namespace: 'open', name: 'stranger', labels: OWN_LABELS }, spec }, false,
    );
  });

  it('are open to no source by themselves', async () => {
    for (const who of ['a peered source', 'a source of Admiralty\'s form'] as const) {
      for (const name of ['stranger', 'anything']) {
        assert.ok((await mayStream(world.source(who).client, name)).every((allowed) => !allowed), who);
      }
    }
  });

  it('are given to a source for its own delegate when it asks, and withdrawn before that can go', async () => {
    const { client } = world.source('a peered source');
    await make('mine', OWN_LABELS);
    const pod = () => world.admin.get(PODS, { namespace: 'open', name: 'mine' });
    assert.ok(await pollUntil(() => pod().catch(() => undefined), { forMs: 60_000, everyMs: 50 }, world.signal));
    assert.ok((await mayStream(client, 'mine')).every((allowed) => !allowed));
    await ask(client, 'mine');
    assert.ok(await until(client, 'mine', true), 'it is never given');
    assert.ok((await mayStream(client, 'stranger')).every((allowed) => !allowed));
    assert.ok(
      (await mayStream(world.source('a source of Admiralty\'s form').client, 'mine')).every((allowed) => !allowed),
    );
    await client.delete(POD_CHAPERONS, { namespace: 'open', name: 'mine' });
    for (let isThere = true; isThere;) { // as soon as the name is free, the right to it must be gone
      isThere = await pod().then(() => true, () => false);
      if (!isThere) assert.ok((await mayStream(client, 'mine')).every((allowed) => !allowed));
    }
  });

  it('are not given for a pod of a stranger that has the name of a chaperon', async () => {
    const { client } = world.source('a peered source');
    await make('stranger', OWN_LABELS);
    await ask(client, 'stranger');
    await make('second', OWN_LABELS);
    await pollUntil(
      () => world.admin.get(PODS, { namespace: 'open', name: 'second' }).catch(() => undefined),
      { forMs: 60_000, everyMs: 50 }, world.signal,
    );
    await ask(client, 'second');
    assert.ok(await until(client, 'second', true), 'what was asked for later is given');
    assert.ok((await mayStream(client, 'stranger')).every((allowed) => !allowed));
  });

  it('of a pod that is refused for what it asks for never come to be', async () => {
    const { client } = world.source('a peered source');
    const privileged = { ...spec, hostPID: true };
    await world.create(
      client, POD_CHAPERONS,
      { metadata: { namespace: 'open', name: 'privileged', labels: OWN_LABELS }, spec: privileged }, false,
    );
    const refused = async () => (
      await world.admin.get(POD_CHAPERONS, { namespace: 'open', name: 'privileged' })
    ).status?.conditions?.find(({ reason }) => reason === 'DelegateRejected')?.message;
    assert.match(
      (await pollUntil(refused, { forMs: 60_000, everyMs: 50 }, world.signal)) ?? '',
      /PodSecurityRefused: .* baseline: hostPID is set/,
    );
    await assert.rejects(world.admin.get(PODS, { namespace: 'open', name: 'privileged' }));
  });
});
