// Pods that a source's injector has changed before our webhook: what it added goes, what the user wrote stays.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Container, Pod, Volume } from '../../../../api/objects/core.ts';
import { withoutInjectedSidecars } from '../../../../webhook/proxy/injected-sidecars.ts';
import { annotated, aPod, frozen, withSpec } from '../../../support/objects/builders.ts';

const ISTIO_STATUS = 'sidecar.istio.io/status';
const LINKERD_VERSION = 'linkerd.io/proxy-version';
const VAULT_STATUS = 'vault.hashicorp.com/agent-inject-status';

const called = (...names: readonly string[]): readonly Container[] =>
  names.map((name) => ({ name, image: `${name}:1` }));
const namesOf = (list: readonly { readonly name: string }[] | undefined): readonly string[] | undefined =>
  list?.map(({ name }) => name);
const shape = ({ spec }: Pod): object => ({
  containers: namesOf(spec.containers), initContainers: namesOf(spec.initContainers), volumes: namesOf(spec.volumes),
});

describe('a pod without the mark of an injector', () => {
  const lookalikes = aPod(
    annotated({ 'sidecar.istio.io/inject': 'true', 'linkerd.io/inject': 'enabled' }),
    withSpec({ containers: called('istio-proxy', 'linkerd-proxy', 'vault-agent'), volumes: [{ name: 'istio-envoy' }] }),
  );

  it('is the same object, whatever its containers are called', () =>
    assert.equal(withoutInjectedSidecars(lookalikes), lookalikes));
  it('is the same object without any annotation', () => {
    const pod = { ...aPod(), metadata: { name: 'web' } };
    assert.equal(withoutInjectedSidecars(pod), pod);
  });
});

describe('an injected pod', () => {
  interface Row {
    readonly mark: Readonly<Record<string, string>>;
    readonly added: Readonly<Record<'containers' | 'init' | 'volumes', readonly string[]>>;
  }
  const rows: Readonly<Record<string, Row>> = {
    'of Istio, by its list': {
      mark: {
        [ISTIO_STATUS]: '{"initContainers":["custom-init"],"containers":["custom-proxy"],"volumes":["certs"]}',
        'istio.io/rev': 'canary',
      },
      added: { containers: ['custom-proxy'], init: ['custom-init'], volumes: ['certs'] },
    },
    'of Istio with a native sidecar': {
      mark: { [ISTIO_STATUS]: '{"initContainers":["istio-validation","istio-proxy"],"containers":null}' },
      added: { containers: [], init: ['istio-validation', 'istio-proxy'], volumes: [] },
    },
    'of Istio with a list that cannot be read': {
      mark: { [ISTIO_STATUS]: '{' },
      added: { containers: ['istio-proxy'], init: ['istio-init', 'istio-validation'], volumes: [] },
    },
    'of Istio with a list of other things': {
      mark: { [ISTIO_STATUS]: JSON.stringify({ containers: [1, null], initContainers: 'istio-init' }) },
      added: { containers: ['istio-proxy'], init: ['istio-init'], volumes: [] },
    },
    'of Istio with no list at all': {
      mark: { [ISTIO_STATUS]: 'null' }, added: { containers: ['istio-proxy'], init: ['istio-init'], volumes: [] },
    },
    'of Linkerd': {
      mark: { [LINKERD_VERSION]: 'edge', 'linkerd.io/created-by': 'injector', 'linkerd.io/trust-root-sha256': 'ab' },
      added: {
        containers: ['linkerd-proxy', 'linkerd-debug'], init: ['linkerd-init', 'linkerd-network-validator'],
        volumes: ['linkerd-proxy-init-xtables-lock', 'linkerd-identity-end-entity', 'linkerd-identity-token'],
      },
    },
    'of Vault': {
      mark: { [VAULT_STATUS]: 'injected' },
      added: {
        containers: ['vault-agent'], init: ['vault-agent-init'],
        volumes: ['home-init', 'home-sidecar', 'vault-secrets', 'vault-config', 'vault-tls-secrets'],
      },
    },
  };

  for (const [name, { mark, added }] of Object.entries(rows)) {
    const injected = aPod(
      annotated({ ...mark, 'example.com/own': 'kept' }),
      withSpec({
        containers: called('app', ...added.containers), initContainers: called('setup', ...added.init),
        volumes: ['data', ...added.volumes].map((volume): Volume => ({ name: volume })),
      }),
    );

    it(`${name}: loses what was added, and keeps what the user wrote`, () =>
      assert.deepEqual(shape(withoutInjectedSidecars(frozen(injected))), {
        containers: ['app'], initContainers: ['setup'], volumes: ['data'],
      }));
    it(`${name}: loses the injector's annotations and no other`, () =>
      assert.deepEqual(withoutInjectedSidecars(injected).metadata.annotations, { 'example.com/own': 'kept' }));
    it(`${name}: is not changed a second time`, () => {
      const once = withoutInjectedSidecars(injected);
      assert.equal(withoutInjectedSidecars(once), once);
    });
  }

  it('lacks the fields that became empty, as the API server prints it', () => {
    const pod = aPod(annotated({ [LINKERD_VERSION]: 'edge' }), withSpec({
      containers: called('app', 'linkerd-proxy'), initContainers: called('linkerd-init'),
      volumes: [{ name: 'linkerd-identity-token' }],
    }));
    const { spec } = withoutInjectedSidecars(pod);
    assert.deepEqual(Object.keys(spec), ['containers']);
  });
  it('keeps a container when no other is left: a pod must have one', () => {
    const pod = aPod(annotated({ [VAULT_STATUS]: 'injected' }), withSpec({ containers: called('vault-agent') }));
    assert.deepEqual(shape(withoutInjectedSidecars(pod)), {
      containers: ['vault-agent'], initContainers: undefined, volumes: undefined,
    });
  });
  it('mounts no volume that has gone, and still mounts its own', () => {
    const volumeMounts = [{ name: 'vault-secrets', mountPath: '/vault' }, { name: 'data', mountPath: '/data' }];
    const pod = aPod(annotated({ [VAULT_STATUS]: 'injected' }), withSpec({
      containers: [{ name: 'app', volumeMounts }], initContainers: [{ name: 'setup', volumeMounts }],
      volumes: [{ name: 'vault-secrets' }, { name: 'data' }],
    }));
    const { containers, initContainers = [] } = withoutInjectedSidecars(frozen(pod)).spec;
    for (const { volumeMounts: left } of [...containers, ...initContainers]) {
      assert.deepEqual(left, [{ name: 'data', mountPath: '/data' }]);
    }
  });
  it('of two injectors loses the additions of both', () => {
    const pod = aPod(
      annotated({ [VAULT_STATUS]: 'injected', [ISTIO_STATUS]: '{}' }),
      withSpec({ containers: called('istio-proxy', 'app', 'vault-agent') }),
    );
    assert.deepEqual(namesOf(withoutInjectedSidecars(pod).spec.containers), ['app']);
  });
});

describe('whatever an injector adds', () => {
  const name = fc.stringMatching(/^[a-z]{1,5}$/);
  const own = fc.uniqueArray(name, { minLength: 1, maxLength: 4 });

  it('the user gets the pod back that it added to, in the order of the user', () => {
    fc.assert(fc.property(own, own, fc.integer(), (mine, theirs, seed) => {
      const added = theirs.map((text) => `injected-${text}`);
      const pod = aPod(withSpec({ containers: called(...mine), volumes: mine.map((volume) => ({ name: volume })) }));
      const mixed = shuffled([...mine, ...added], mine, seed);
      const status = JSON.stringify({ containers: added, volumes: added });
      const injected = aPod(
        annotated({ [ISTIO_STATUS]: status }),
        withSpec({ containers: called(...mixed), volumes: mixed.map((volume) => ({ name: volume })) }),
      );
      assert.deepEqual(withoutInjectedSidecars(frozen(injected)).spec, pod.spec);
    }), { numRuns: 200 });
  });

  /** All names in some order that keeps the order of the user's own. */
  function shuffled(all: readonly string[], mine: readonly string[], seed: number): readonly string[] {
    const ranked = all.toSorted((one, other) => (one + seed).length - (other + seed).length || (seed % 2) - 0.5);
    const inOrder = [...mine];
    return ranked.map((text) => (mine.includes(text) ? (inOrder.shift() ?? '') : text));
  }
});
