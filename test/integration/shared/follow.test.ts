// What elected pods need follows them into their targets, stays equal, and goes when nobody needs it: on real control
// planes.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { KubernetesObject, Pod, Secret, Service, StringMap } from '../../../api/objects/core.ts';
import {
  CILIUM_FORMER_GLOBAL_ANNOTATION, CLUSTER_TARGET_NAME_LABEL, ELECT_ANNOTATION, GLOBAL_ANNOTATION,
  IS_DELEGATE_ANNOTATION, ORIGINAL_SELECTOR_ANNOTATION, ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL, PARENT_UID_LABEL,
  PROXY_CONSTRAINTS_ANNOTATION,
} from '../../../api/objects/keys.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import {
  CLUSTER_TARGETS, CONFIG_MAPS, EVENTS, INGRESSES, NAMESPACE_ELECTIONS, NAMESPACES,
  PLACEMENT_POLICIES, PODS, SECRET_COPIES, SECRETS, SERVICES, VALIDATING_ADMISSION_POLICIES,
  VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../../api/resource-types.ts';
import type { PlacementPolicy } from '../../../api/kinds/placement-policy.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { found, secretsOf } from '../../support/attackers/canaries.ts';
import { isthmus } from '../../support/processes/command-line.ts';
import { everyOutput } from '../../support/attackers/every-output.ts';
import { inNamespace, isRunning, makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { leaveWorld, shareWorld } from '../../support/worlds/shared-world.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';

type ConfigMap = KubernetesObject & { readonly data?: StringMap; readonly immutable?: boolean };

const MANAGER = 'isthmus-test';
/** Copies go 10 s after the last pod; on a loaded machine all takes its time. */
const GONE_MS = 60_000;

const shared = shareWorld({ nodes: 1 });
let world: IsthmusWorld;
let watched: Record<
  'configMaps' | 'secrets' | 'services' | 'ingresses',
  readonly [WatchedCollection<KubernetesObject>, WatchedCollection<KubernetesObject>]
>;
let sourceServices: WatchedCollection<Service>;
let events: WatchedCollection<KubernetesObject>;

describe('objects that follow elected pods', () => {
  before(async () => {
    ({ world } = shared());
    const inTargets = async (type: ResourceType) => {
      const [first, second] =
        await Promise.all(world.targets.map(({ client }) => new WatchedCollection(client, type).start(world.signal)));
      return [first!, second!] as const;
    };
    const [configMaps, secrets, services, ingresses] =
      await Promise.all([CONFIG_MAPS, SECRETS, SERVICES, INGRESSES].map(inTargets));
    watched = { configMaps: configMaps!, secrets: secrets!, services: services!, ingresses: ingresses! };
    sourceServices = await new WatchedCollection<Service>(world.source.client, SERVICES).start(world.signal);
    events = await new WatchedCollection(world.source.client, EVENTS).start(world.signal);
  });
  after(() => leaveWorld(world));

  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  function elected(namespace: string, name: string, spec: Partial<Pod['spec']> & Record<string, unknown> = {}): Pod {
    const containers = [{ name: 'main', image: 'example/main:1' }];
    return {
      metadata: { namespace, name, labels: { app: name }, annotations: { [ELECT_ANNOTATION]: '' } },
      spec: { containers, ...spec },
    };
  }

  /** Makes the pod, and gives the index of the target that runs it. */
  async function run(pod: Pod): Promise<0 | 1> {
    const { namespace = '', name = '' } = pod.metadata;
    await world.source.client.create(PODS, pod);
    await world.source.pods.until(
      `${name} Running`,
      (all) => inNamespace(all, namespace).some((one) => one.metadata.name === name && isRunning(one)),
      60_000,
    );
    return (await world.targets[0].client.list(PODS, { namespace })).some(
      ({ metadata }) => metadata.name?.startsWith(`${name}-`),
    ) ? 0 : 1;
  }

  async function make(object: KubernetesObject, type: ResourceType): Promise<void> {
    await world.source.client.apply(type, object, MANAGER);
  }

  /** Objects of any kind, as far as tests look at them. */
  interface Seen extends KubernetesObject {
    readonly data?: StringMap;
    readonly spec?: { readonly selector?: StringMap; readonly clusterIP?: string; readonly ipFamilyPolicy?: string };
    readonly status?: Pod['status'];
  }

  const one = (objects: readonly KubernetesObject[], namespace: string, name: string): Seen | undefined =>
    inNamespace(objects, namespace).find(({ metadata }) => metadata.name === name);

  describe('ConfigMaps and Secrets', () => {
    const namespace = 'follow-config';
    let target: 0 | 1;

    before(async () => {
      await makeNamespace(world, namespace);
      await make(
        {
          metadata: { namespace, name: 'settings', labels: { team: 'a' }, annotations: { note: 'x' } },
          data: { color: 'red', size: '1' },
        } as ConfigMap,
        CONFIG_MAPS,
      );
      await make({ metadata: { namespace, name: 'unrelated' }, data: { a: 'b' } } as ConfigMap, CONFIG_MAPS);
      await make({ metadata: { namespace, name: 'password' }, data: { key: base64('canary-1') } } as Secret, SECRETS);
      await make(
        {
          metadata: { namespace, name: 'registry' }, type: 'kubernetes.io/dockerconfigjson',
          data: { '.dockerconfigjson': base64('{}') },
        } as Secret,
        SECRETS,
      );
      target = await run(elected(namespace, 'reader', {
        containers: [
          {
            name: 'main', image: 'example/main:1', envFrom: [{ configMapRef: { name: 'settings' } }],
          } as Pod['spec']['containers'][number],
        ],
        volumes: [{ name: 'password', projected: { sources: [{ secret: { name: 'password' } }] } }],
        imagePullSecrets: [{ name: 'registry' }],
      }));
    });

    it('C2-12: follow the pod that names them, to its target alone, and nothing else does', async () => {
      const { configMaps, secrets } = watched;
      await configMaps[target].until('settings is there', (all) => one(all, namespace, 'settings') !== undefined);
      await secrets[target].until('both Secrets are there', (all) => inNamespace(all, namespace).length === 2);
      const copy = one(configMaps[target].objects, namespace, 'settings');
      assert.deepEqual(copy?.data, { color: 'red', size: '1' });
      assert.deepEqual([copy?.metadata.labels?.['team'], copy?.metadata.annotations?.['note']], ['a', 'x']);
      const original = await world.source.client.get(CONFIG_MAPS, { namespace, name: 'settings' });
      assert.equal(copy?.metadata.labels?.[PARENT_UID_LABEL], original.metadata.uid);
      assert.equal(original.metadata.finalizers, undefined);
      assert.equal(one(configMaps[target].objects, namespace, 'unrelated'), undefined);
      const other = target === 0 ? 1 : 0;
      assert.deepEqual(inNamespace(secrets[other].objects, namespace), []);
      assert.equal(one(configMaps[other].objects, namespace, 'settings'), undefined);
    });

    it('stay equal, also where somebody changes the copy', async () => {
      const collection = watched.configMaps[target];
      await make(
        { metadata: { namespace, name: 'settings', labels: { team: 'b' } }, data: { color: 'blue' } } as ConfigMap,
        CONFIG_MAPS,
      );
      const isEqual = (all: KubernetesObject[]) => {
        const copy = one(all, namespace, 'settings');
        return copy?.data?.['color'] === 'blue' && copy.data['size'] === undefined
          && copy.metadata.labels?.['team'] === 'b' && copy.metadata.annotations?.['note'] === undefined;
      };
      await collection.until('the change has followed', isEqual);
      await world.targets[target].client.patch(CONFIG_MAPS, { namespace, name: 'settings' }, {
        patchType: 'merge', patch: { data: { color: 'green' }, metadata: { labels: { theirs: 'x' } } },
      });
      const all = await collection.until(
        'the copy is right again',
        (objects) => isEqual(objects) && one(objects, namespace, 'settings')?.metadata.labels?.['theirs'] === 'x',
      );
      assert.equal(one(all, namespace, 'settings')?.metadata.labels?.['theirs'], 'x');
    });

    it('of Secrets stay equal and are put right without being read: the target says who changed what', async () => {
      const [at, { client }] = [{ namespace, name: 'password' }, world.targets[target]];
      const copies = watched.secrets[target];
      const saying = (value: string) =>
        (all: KubernetesObject[]) => one(all, namespace, 'password')?.data?.['key'] === base64(value);
      await make({ metadata: at, data: { key: base64('canary-3') } } as Secret, SECRETS);
      await copies.until('the change has followed', saying('canary-3'));
      await client.patch(SECRETS, at, { patchType: 'merge', patch: { data: { key: base64('forged') } } });
      await copies.until('what somebody wrote is put right', saying('canary-3'));
      const { metadata: { uid } } = await client.get(SECRETS, at);
      await client.delete(SECRETS, at);
      await copies.until(
        'what somebody deleted is made anew',
        (all) => saying('canary-3')(all) && one(all, namespace, 'password')?.metadata.uid !== uid,
      );
      const isReported = async () => {
        const report = await client.get(SECRET_COPIES, at).catch(() => undefined);
        return report?.spec.intact === true
          && report.spec.secretUID === (await client.get(SECRETS, at)).metadata.uid ? report : undefined;
      };
      const report = await pollUntil(isReported, { forMs: 60_000, everyMs: 100 }, world.signal);
      assert.ok(report);
      assert.ok(!/canary|Y2FuYX/.test(JSON.stringify(report)), 'nothing of what it says');
      await client.patch(SECRETS, at, { patchType: 'merge', patch: { metadata: { labels: { theirs: 'x' } } } });
      await make(
        { metadata: { ...at, annotations: { note: 'y' } }, data: { key: base64('canary-3') } } as Secret, SECRETS,
      );
      await copies.until(
        'annotations follow, too', (all) => one(all, namespace, 'password')?.metadata.annotations?.['note'] === 'y',
      );
    });

    it('stay as they are where the target rejects what they have become', async () => {
      const { client } = world.targets[target];
      const metadata = { name: 'nothing-unwanted' };
      const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps', 'secrets'] };
      const policy = {
        metadata,
        spec: {
          matchConstraints: { resourceRules: [{ ...rule, operations: ['CREATE', 'UPDATE'] }] },
          validations: [{ expression: "!has(object.data) || !('unwanted' in object.data)" }],
        },
      };
      const binding = { metadata, spec: { policyName: metadata.name, validationActions: ['Deny'] } };
      await client.create(VALIDATING_ADMISSION_POLICIES, policy);
      await client.create(VALIDATING_ADMISSION_POLICY_BINDINGS, binding);
      const places = [[CONFIG_MAPS, 'settings'], [SECRETS, 'password']] as const;
      const before = await Promise.all(places.map(([type, name]) => client.get(type, { namespace, name })));
      const unwanted = { patchType: 'merge', patch: { data: { unwanted: base64('x') } } } as const;
      const isDenied = () => client.patch(CONFIG_MAPS, { namespace, name: 'settings' }, unwanted)
        .then(() => undefined, () => true as const);
      assert.ok(await pollUntil(isDenied, { forMs: 60_000, everyMs: 100 }, world.signal));
      for (const [type, name] of places) {
        await world.source.client.patch(type, { namespace, name }, unwanted);
        await events.until('it is told', (all) => all.some((event) => {
          const { reason, note = '' } = event as { readonly reason?: string; readonly note?: string };
          return reason === 'FollowRefused' && note.includes(`${type.kind} ${name} `);
        }), 60_000);
      }
      const after = await Promise.all(places.map(([type, name]) => client.get(type, { namespace, name })));
      assert.deepEqual(after.map((copy) => copy.metadata.uid), before.map((copy) => copy.metadata.uid));
      await client.delete(VALIDATING_ADMISSION_POLICY_BINDINGS, metadata);
      for (const [type, name] of places) await world.source.client.patch(
        type, { namespace, name }, { patchType: 'merge', patch: { data: { unwanted: null } } },
      );
    });

    it('are made anew where the target lets nobody change them', async () => {
      const collection = watched.configMaps[target];
      await world.source.client.delete(CONFIG_MAPS, { namespace, name: 'settings' });
      await collection.until(
        'the copy has gone with the object', (all) => one(all, namespace, 'settings') === undefined,
      );
      await make(
        { metadata: { namespace, name: 'settings' }, data: { color: 'one' }, immutable: true } as ConfigMap,
        CONFIG_MAPS,
      );
      await collection.until('the first is there', (all) => one(all, namespace, 'settings')?.data?.['color'] === 'one');
      await world.source.client.delete(CONFIG_MAPS, { namespace, name: 'settings' });
      await make(
        { metadata: { namespace, name: 'settings' }, data: { color: 'two' }, immutable: true } as ConfigMap,
        CONFIG_MAPS,
      );
      await collection.until(
        'the second is there', (all) => one(all, namespace, 'settings')?.data?.['color'] === 'two',
      );
      const secrets = watched.secrets[target];
      await make(
        { metadata: { namespace, name: 'password' }, data: { key: base64('canary-3') }, immutable: true } as Secret,
        SECRETS,
      );
      await secrets.until(
        'the copy is immutable',
        (all) => (one(all, namespace, 'password') as { immutable?: boolean } | undefined)?.immutable === true,
      );
      await world.source.client.delete(SECRETS, { namespace, name: 'password' });
      await make({ metadata: { namespace, name: 'password' }, data: { key: base64('canary-4') } } as Secret, SECRETS);
      await secrets.until(
        'the one after it is there', (all) => one(all, namespace, 'password')?.data?.['key'] === base64('canary-4'),
      );
    });

    it('go when no pod names them any more', async () => {
      await world.source.client.delete(PODS, { namespace, name: 'reader' });
      await watched.configMaps[target].until(
        'no copy of settings', (all) => one(all, namespace, 'settings') === undefined, GONE_MS,
      );
      await watched.secrets[target].until(
        'no copies of Secrets', (all) => inNamespace(all, namespace).length === 0, GONE_MS,
      );
      const left = await world.source.client.list(SECRETS, { namespace });
      assert.deepEqual(new Set(left.map(({ metadata }) => metadata.name)), new Set(['password', 'registry']));
    });
  });

  describe('a ConfigMap and a Secret of a pod on its way', () => {
    const namespace = 'follow-candidate';
    const home = 0;
    const waiting = (name: string): Pod => {
      const pod = elected(namespace, name, {
        volumes: [{ name: 'settings', configMap: { name: 'early' } } as { name: string }, {
          name: 'password', secret: { secretName: 'early' },
        } as { name: string }],
      });
      const constraints = JSON.stringify({
        nodeSelector: { [CLUSTER_TARGET_NAME_LABEL]: world.targets[home].cluster.name },
      });
      return {
        ...pod,
        metadata: {
          ...pod.metadata,
          annotations: { ...pod.metadata.annotations, [PROXY_CONSTRAINTS_ANNOTATION]: constraints },
        },
      };
    };
    const areThere = async () => {
      await watched.configMaps[home].until('the ConfigMap', (all) => one(all, namespace, 'early') !== undefined);
      await watched.secrets[home].until('the Secret', (all) => one(all, namespace, 'early') !== undefined);
    };

    before(async () => {
      await makeNamespace(world, namespace);
      await make({ metadata: { namespace, name: 'early' }, data: { a: 'b' } } as ConfigMap, CONFIG_MAPS);
      await make({ metadata: { namespace, name: 'early' }, data: { key: base64('canary-6') } } as Secret, SECRETS);
    });

    it('are there before the target has given it a node, and go with it', async () => {
      await world.targets[home].cluster.stopComponent('kube-scheduler', 'SIGSTOP');
      try {
        await world.source.client.create(PODS, waiting('early'));
        await areThere();
        const [proxy] = await world.source.client.list(PODS, { namespace });
        assert.equal(proxy?.spec.nodeName, undefined);
        await world.source.client.delete(PODS, { namespace, name: 'early' });
        const gone = (all: readonly KubernetesObject[]) => one(all, namespace, 'early') === undefined;
        await watched.configMaps[home].until('no ConfigMap', gone, GONE_MS);
        await watched.secrets[home].until('no Secret', gone, GONE_MS);
      } finally {
        await world.targets[home].cluster.startComponent('kube-scheduler');
      }
    });

    it('stay when it is bound', async () => {
      const { history } = watched.configMaps[home];
      const before = history.length;
      await run(waiting('later'));
      await areThere();
      const removed = history.slice(before)
        .some(({ key, after: is }) => key === `${namespace}/early` && is === undefined);
      assert.equal(removed, false);
      await world.source.client.delete(PODS, { namespace, name: 'later' });
    });
  });

  describe('an object of a target that Isthmus did not make', () => {
    const namespace = 'follow-foreign';

    it('is left as it is, and the pod says so', async () => {
      await makeNamespace(world, namespace);
      const theirs = { metadata: { namespace, name: 'settings' }, data: { whose: 'theirs' } } as ConfigMap;
      await Promise.all(world.targets.map(({ client }) => client.apply(CONFIG_MAPS, theirs, MANAGER)));
      await make({ metadata: { namespace, name: 'settings' }, data: { whose: 'ours' } } as ConfigMap, CONFIG_MAPS);
      const target = await run(elected(
        namespace, 'reader', { volumes: [{ name: 'settings', configMap: { name: 'settings' } } as { name: string }] },
      ));
      const told = await events.until('an Event of the pod', (all) => inNamespace(all, namespace).some(
        (event) => (event as { reason?: string }).reason === 'FollowRefused',
      ));
      const event = inNamespace(told, namespace).find(
        (object) => (object as { reason?: string }).reason === 'FollowRefused',
      ) as { note?: string };
      assert.match(
        event.note ?? '',
        /ConfigMap settings does not follow into target target-[12]: an object of that name exists there/,
      );
      await world.source.client.delete(PODS, { namespace, name: 'reader' });
      await world.source.pods.until('the pod is gone', (all) => inNamespace(all, namespace).length === 0, GONE_MS);
      assert.deepEqual(one(watched.configMaps[target].objects, namespace, 'settings')?.data, { whose: 'theirs' });
    });
  });

  describe('a Secret of a target that Isthmus did not make', () => {
    const namespace = 'follow-foreign-secret';

    it('is left as it is, unread, and the pod says so', async () => {
      await makeNamespace(world, namespace);
      const theirs = { metadata: { namespace, name: 'password' }, data: { key: base64('theirs') } } as Secret;
      await Promise.all(world.targets.map(({ client }) => client.apply(SECRETS, theirs, MANAGER)));
      await make({ metadata: { namespace, name: 'password' }, data: { key: base64('canary-5') } } as Secret, SECRETS);
      const target = await run(elected(
        namespace, 'reader',
        { volumes: [{ name: 'password', secret: { secretName: 'password' } } as { name: string }] },
      ));
      type Told = KubernetesObject & { readonly reason?: string; readonly note?: string };
      const isRefusal = (event: Told) =>
        event.reason === 'FollowRefused'
          && /Secret password does not follow into target target-[12]: an object of that name exists there/.test(
            event.note ?? '',
          );
      await events.until('an Event of the pod', (all) => inNamespace(all, namespace).some(isRefusal), 60_000);
      assert.deepEqual(
        (await world.targets[target].client.get(SECRETS, { namespace, name: 'password' })).data, theirs.data,
      );
      await Promise.all(world.targets.map(({ client }) => client.delete(SECRETS, { namespace, name: 'password' })));
      await watched.secrets[target].until(
        'ours follows once theirs is gone',
        (all) => one(all, namespace, 'password')?.data?.['key'] === base64('canary-5'), GONE_MS,
      );
      await world.source.client.delete(PODS, { namespace, name: 'reader' });
      await watched.secrets[target].until(
        'and goes with the pod', (all) => one(all, namespace, 'password') === undefined, GONE_MS,
      );
    });
  });

  describe('a copy whose pod went while its source was away', () => {
    const namespace = 'follow-orphan';

    it('goes when the source is back', async () => {
      await makeNamespace(world, namespace);
      await make({ metadata: { namespace, name: 'password' }, data: { key: base64('canary-2') } } as Secret, SECRETS);
      const target = await run(elected(
        namespace, 'reader',
        { volumes: [{ name: 'password', secret: { secretName: 'password' } } as { name: string }] },
      ));
      await watched.secrets[target].until('the copy', (all) => one(all, namespace, 'password') !== undefined);
      await world.isthmus.processes.get(world.source.cluster.name)?.stop();
      await world.source.client.delete(SECRETS, { namespace, name: 'password' });
      await world.isthmus.restart(world.source.cluster.name);
      await watched.secrets[target].until('no copy', (all) => one(all, namespace, 'password') === undefined, GONE_MS);
    });
  });

  describe('a Service that selects elected pods, and its Ingress', () => {
    const namespace = 'follow-service';
    const service = (selector: StringMap, fields: object = {}): KubernetesObject => ({
      metadata: { namespace, name: 'web' },
      // the policy is one that one family serves as well
      spec: { selector, ports: [{ port: 80 }], ipFamilyPolicy: 'PreferDualStack', ...fields },
    }) as KubernetesObject;

    before(async () => {
      await makeNamespace(world, namespace);
      await make(service({ app: 'web' }), SERVICES);
      await make(
        {
          metadata: { namespace, name: 'other' }, spec: { selector: { app: 'nobody' }, ports: [{ port: 80 }] },
        } as KubernetesObject,
        SERVICES,
      );
      const backend = { service: { name: 'web', port: { number: 80 } } };
      await make(
        {
          metadata: { namespace, name: 'web' },
          spec: { rules: [{ host: 'a.example' }, { http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] },
        } as KubernetesObject,
        INGRESSES,
      );
      await run(elected(namespace, 'web'));
    });

    it('are in all targets, where the Service selects delegates', async () => {
      for (const collection of watched.services) {
        const all = await collection.until('web is there', (objects) => one(objects, namespace, 'web') !== undefined);
        const copy = one(all, namespace, 'web');
        assert.deepEqual(copy?.spec?.selector, { [`${ADMIRALTY_PREFIX}app`]: 'web' });
        assert.equal(copy.spec.ipFamilyPolicy, 'PreferDualStack');
        assert.equal(copy.metadata.annotations?.[GLOBAL_ANNOTATION], 'true');
        assert.equal(copy.metadata.annotations[IS_DELEGATE_ANNOTATION], '');
        assert.equal(one(all, namespace, 'other'), undefined);
      }
      for (const collection of watched.ingresses) {
        await collection.until('the Ingress is there', (objects) => one(objects, namespace, 'web') !== undefined);
      }
    });

    it('have an address again where the Service was headless for a while', async () => {
      const isHeadless = (all: readonly KubernetesObject[]) => one(all, namespace, 'web')?.spec?.clusterIP === 'None';
      const hasAddress = (all: readonly KubernetesObject[]) =>
        /^\d/.test(one(all, namespace, 'web')?.spec?.clusterIP ?? '');
      const remake = async (fields: object) => {
        await world.source.client.delete(SERVICES, { namespace, name: 'web' });
        await make(service({ app: 'web' }, fields), SERVICES);
      };
      await remake({ clusterIP: 'None' });
      for (const collection of watched.services) await collection.until('web is headless', isHeadless, GONE_MS);
      await remake({});
      for (const collection of watched.services) await collection.until('web has an address', hasAddress, GONE_MS);
    });

    it('stay out of a target where a policy lets none of their pods run, and go to it as soon as it does', async () => {
      const policy = {
        metadata: { namespace, name: 'at-home' }, spec: { require: { matchLabels: { home: namespace } } },
      } as PlacementPolicy;
      const home = (await world.targets[0].client.list(PODS, { namespace })).length > 0 ? 0 : 1;
      const [away, awayIngresses] = [watched.services[1 - home]!, watched.ingresses[1 - home]!];
      await world.source.client.patch(CLUSTER_TARGETS, { name: `target-${home + 1}` }, {
        patchType: 'merge', patch: { metadata: { labels: { home: namespace } } },
      });
      await world.source.client.create(PLACEMENT_POLICIES, policy);
      for (const collection of [away, awayIngresses]) {
        await collection.until('web has gone', (objects) => one(objects, namespace, 'web') === undefined, GONE_MS);
      }
      assert.notEqual(
        one(await world.targets[home].client.list<KubernetesObject>(SERVICES, { namespace }), namespace, 'web'),
        undefined,
      );
      await world.source.client.delete(PLACEMENT_POLICIES, { namespace, name: 'at-home' });
      for (const collection of [away, awayIngresses]) {
        await collection.until('web is back', (objects) => one(objects, namespace, 'web') !== undefined);
      }
    });

    it('leave the selector of the source rewritten, its own one kept', async () => {
      const isMarked = (all: Service[]) =>
        one(all, namespace, 'web')?.metadata.annotations?.[ORIGINAL_SELECTOR_ANNOTATION] === 'app=web';
      const all = await sourceServices.until('web is marked', isMarked);
      const marked = one(all, namespace, 'web');
      assert.deepEqual(marked?.spec?.selector, { [`${ADMIRALTY_PREFIX}app`]: 'web' });
      assert.equal(marked.metadata.annotations?.[CILIUM_FORMER_GLOBAL_ANNOTATION], 'true');
      assert.equal(one(all, namespace, 'other')?.metadata.annotations?.[GLOBAL_ANNOTATION], undefined);
    });

    it('are rewritten again after the user has applied the manifest again', async () => {
      await make(service({ app: 'web' }), SERVICES);
      await sourceServices.until('only our term is left', (all) => {
        const { metadata, spec } = one(all, namespace, 'web') ?? { metadata: {} };
        return Object.keys(spec?.selector ?? {})
          .join() === `${ADMIRALTY_PREFIX}app` && metadata.annotations?.[ORIGINAL_SELECTOR_ANNOTATION] === 'app=web';
      });
    });

    it('are as before, without copies, soon after the last pod', { timeout: 150_000 }, async () => {
      await world.source.client.delete(PODS, { namespace, name: 'web' });
      await sourceServices.until('the selector is the user\'s', (all) => {
        const { metadata, spec } = one(all, namespace, 'web') ?? { metadata: {} };
        return spec?.selector?.['app'] === 'web' && Object.keys(metadata.annotations ?? {})
          .every((key) => !key.startsWith(ADMIRALTY_PREFIX));
      }, 120_000);
      for (const collection of [...watched.services, ...watched.ingresses]) {
        await collection.until(
          'no copies',
          (all) =>
            inNamespace(all, namespace).every(({ metadata }) => metadata.labels?.[PARENT_CLUSTER_LABEL] === undefined),
          GONE_MS,
        );
      }
    });
  });

  describe('a PersistentVolumeClaim', () => {
    const PERSISTENT_VOLUMES =
      { group: '', version: 'v1', plural: 'persistentvolumes', kind: 'PersistentVolume', namespaced: false };
    const PERSISTENT_VOLUME_CLAIMS =
      { ...PERSISTENT_VOLUMES, plural: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim', namespaced: true };
    const namespace = 'follow-claim';
    const claiming = (name: string, claimName: string) =>
      elected(
        namespace, name, { volumes: [{ name: 'data', persistentVolumeClaim: { claimName } } as { name: string }] },
      );

    before(async () => {
      await makeNamespace(world, namespace);
      const storage = '1Gi';
      for (const { client } of world.targets) {
        const { metadata: { uid } } = await client.get(NAMESPACES, { name: namespace });
        assert.ok(uid);
        const volume = {
          capacity: { storage }, accessModes: ['ReadWriteOnce'], storageClassName: '', hostPath: { path: '/data' },
          claimRef: { namespace, name: 'data' },
        };
        await client.apply(
          PERSISTENT_VOLUMES, { metadata: { name: 'data' }, spec: volume } as KubernetesObject, MANAGER,
        );
        const claim = {
          accessModes: ['ReadWriteOnce'], storageClassName: '', volumeName: 'data',
          resources: { requests: { storage } },
        };
        await client.apply(
          PERSISTENT_VOLUME_CLAIMS, { metadata: { namespace, name: 'data' }, spec: claim } as KubernetesObject, MANAGER,
        );
      }
    });

    it('of the same name in the target is used', async () => {
      await run(claiming('writer', 'data'));
    });

    it('that no target has is named as the reason', async () => {
      await world.source.client.create(PODS, claiming('waiting', 'lost'));
      const all = await world.source.pods.until(
        'a reason',
        (pods) => JSON.stringify(one(pods, namespace, 'waiting')?.status?.conditions ?? []).includes('lost'),
        60_000,
      );
      const condition = one(all, namespace, 'waiting')?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
      assert.match(condition?.message ?? '', /persistentvolumeclaim "lost" not found/);
    });
  });

  describe('a namespace whose pods are all elected', () => {
    const labels = { 'isthmus.dev/elect': 'all' };
    const plain = (namespace: string, name: string): Pod =>
      ({ metadata: { namespace, name }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } });
    /** ServiceAccounts come a moment after their namespace: kubectl apply fails until then, and users try again. */
    const make = async (pod: Pod): Promise<Pod> => {
      const created = await pollUntil(
        () => world.source.client.create(PODS, pod)
          .catch((error: unknown) =>
            (/serviceaccount/.test(String(error)) ? undefined : Promise.reject(error as Error))),
        { forMs: 60_000, everyMs: 20 }, world.signal,
      );
      assert.ok(created);
      return created;
    };

    it('misses none that is made in the same breath', async () => {
      const names = Array.from({ length: 10 }, (_, index) => `elected-${index}`);
      const pods = await Promise.all(names.map(async (namespace) => {
        await world.source.client.create(NAMESPACES, { metadata: { name: namespace, labels } });
        await world.source.client.create(
          NAMESPACE_ELECTIONS,
          {
            metadata: { namespace, name: 'election' }, spec: { selector: { matchLabels: { tier: namespace } } },
          } as KubernetesObject,
        );
        return make(plain(namespace, 'first'));
      }));
      for (const { metadata, spec } of pods) {
        assert.equal(spec.schedulerName, 'admiralty-proxy', metadata.namespace);
        assert.ok(JSON.stringify(spec.affinity).includes(String(metadata.namespace)), 'and its selector counts');
      }
      await Promise.all(names.map((name) => world.source.client.delete(NAMESPACES, { name })));
    });

    it('sends pods to a target without an annotation, until it does so no more', async () => {
      const namespace = 'all-elected';
      await Promise.all([world.source, ...world.targets].map(
        ({ client }) => client.create(NAMESPACES, { metadata: { name: namespace } }),
      ));
      const kubeconfig = world.source.cluster.kubeconfigPath;
      const offloaded = await isthmus('offload', 'namespace', namespace, '--kubeconfig', kubeconfig);
      assert.equal(offloaded.code, 0, offloaded.stderr);
      const isLabelled = async () => (
        (
          await make({ ...plain(namespace, 'probe'), metadata: { namespace, generateName: 'probe-' } })
        ).spec.schedulerName === 'admiralty-proxy' ? true : undefined
      );
      assert.ok(
        await pollUntil(isLabelled, { forMs: 60_000, everyMs: 100 }, world.signal),
        'an API server sees a new label of an old namespace a moment later',
      );
      await run(plain(namespace, 'web'));
      const back = await isthmus('unoffload', 'namespace', namespace, '--kubeconfig', kubeconfig);
      assert.equal(back.code, 0, back.stderr);
      const isPlain = async () => (
        (
          await make({ ...plain(namespace, 'probe'), metadata: { namespace, generateName: 'probe-' } })
        ).spec.schedulerName === 'admiralty-proxy' ? undefined : true
      );
      assert.ok(await pollUntil(isPlain, { forMs: 60_000, everyMs: 100 }, world.signal));
    });
  });

  describe('secrets', () => {
    it('C2-35: stand nowhere in what Isthmus says: logs, events, objects, metrics, commands, the support archive',
      async () => {
      const canaries = (
        await Promise.all(
          [world.source, ...world.targets].map(({ client, cluster }) => secretsOf(client, cluster.name)),
        )
      ).flat();
      assert.ok(
        canaries.some(({ text }) => text === 'canary-4') && canaries
          .some(({ what }) => what.includes('isthmus-webhook-certificates')),
        'what followed and what is ours are among them',
      );
      const work = await mkdtemp(join(tmpdir(), 'isthmus-canaries-'));
      try {
        const outputs = await everyOutput(world, work);
        const said =
          outputs.filter(({ name }) => name.endsWith('isthmus.log') || name.endsWith('.tar.gz') || name === 'metrics');
        assert.ok(said.length >= 5 && said.every(({ text }) => text.length > 0));
        // where API servers read it, once a minute has gone by without a webhook of an earlier version
        const reviewPath = /isthmus-webhook-certificates path in (\S+) (mutating|validating)webhookconfigurations$/;
        assert.deepEqual(found(canaries, outputs).filter((line) => !reviewPath.test(line)), []);
      } finally {
        await rm(work, { recursive: true });
      }
    });
  });
});
