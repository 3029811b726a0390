// Probes and lifecycle hooks that Istio redirected to its agent get their own handlers back: without the sidecar the
// redirected ones never succeed, and a container would be restarted for ever.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Container, Pod } from '../../../../api/objects/core.ts';
import { withOwnProbes } from '../../../../webhook/proxy/istio-probes.ts';
import { aPod, frozen, withSpec } from '../../../support/objects/builders.ts';
import { webPath } from '../../../support/objects/web-addresses.ts';

type Json = Readonly<Record<string, unknown>>;

const AGENT = { port: 15_020, scheme: 'HTTP' };
const redirected = (path: string, timings: Json = {}): Json => ({ httpGet: { path, ...AGENT }, ...timings });

/** A pod with these containers, and a sidecar that keeps what was redirected. */
const withProbers = (probers: unknown, ...containers: readonly Json[]): Pod => {
  const value = typeof probers === 'string' ? probers : JSON.stringify(probers);
  const sidecar = { name: 'istio-proxy', env: [{ name: 'OTHER', value: '{' },
    { name: 'ISTIO_KUBE_APP_PROBERS', value }] };
  return frozen(aPod(withSpec({ containers: [...containers, sidecar] as unknown as readonly Container[] })));
};
const first = (pod: Pod): Json => pod.spec.containers[0] as unknown as Json;

describe('a redirected probe', () => {
  const handlers: Readonly<Record<string, Json>> = {
    httpGet: { path: '/healthz', port: 8080, scheme: 'HTTPS' }, tcpSocket: { port: 5432 },
    grpc: { port: 9000, service: 'liveness' },
  };

  for (const [handler, original] of Object.entries(handlers)) {
    for (const field of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
      it(`gets its ${handler} back as ${field}`, () => {
        const path = '/app-health/app/livez';
        const pod = withProbers({ [path]: { [handler]: original, timeoutSeconds: 1 } }, {
          name: 'app', [field]: redirected(path, { periodSeconds: 7, timeoutSeconds: 3 }),
        });
        assert.deepEqual(first(withOwnProbes(pod)), {
          name: 'app', [field]: { periodSeconds: 7, timeoutSeconds: 3, [handler]: original },
        });
      });
    }
  }

  it('is restored in an init container, which may be a sidecar of the user', () => {
    const path = '/app-health/side/readyz';
    const pod = withProbers({ [path]: { tcpSocket: { port: 1 } } }, { name: 'app' });
    const initContainers = [{ name: 'side', readinessProbe: redirected(path) }] as unknown as readonly Container[];
    const restored = withOwnProbes({ ...pod, spec: { ...pod.spec, initContainers } });
    assert.deepEqual(restored.spec.initContainers, [{ name: 'side', readinessProbe: { tcpSocket: { port: 1 } } }]);
  });
  it('is found when the sidecar is an init container', () => {
    const path = '/app-health/app/livez';
    const { spec: { containers: [app, sidecar] } } =
      withProbers({ [path]: { tcpSocket: { port: 1 } } }, { name: 'app', livenessProbe: redirected(path) });
    const pod = aPod(withSpec({ containers: [app!], initContainers: [sidecar!] }));
    assert.deepEqual(first(withOwnProbes(pod))['livenessProbe'], { tcpSocket: { port: 1 } });
  });
});

describe('a redirected lifecycle hook', () => {
  const hook = { path: '/drain', port: 8080, scheme: 'HTTP' };
  const preStop = '/app-lifecycle/app/prestopz';
  const postStart = '/app-lifecycle/app/poststartz';

  it('gets its own handler back, or the delegate could not start and would not drain', () => {
    const pod = withProbers({ [preStop]: { httpGet: hook }, [postStart]: { httpGet: { ...hook, path: '/begin' } } }, {
      name: 'app', lifecycle: { preStop: redirected(preStop), postStart: redirected(postStart) },
    });
    assert.deepEqual(first(withOwnProbes(pod)), {
      name: 'app', lifecycle: { preStop: { httpGet: hook }, postStart: { httpGet: { ...hook, path: '/begin' } } },
    });
  });
  it('leaves the other hook, which runs a command, as it is', () => {
    const exec = { exec: { command: ['true'] } };
    const pod = withProbers({ [preStop]: { httpGet: hook } }, {
      name: 'app', lifecycle: { preStop: redirected(preStop), postStart: exec, stopSignal: 'SIGUSR1' },
    });
    assert.deepEqual(first(withOwnProbes(pod))['lifecycle'], {
      preStop: { httpGet: hook }, postStart: exec, stopSignal: 'SIGUSR1',
    });
  });
});

describe('a pod stays the same object', () => {
  const probed = { name: 'app', livenessProbe: { httpGet: { path: '/own', port: 80 } } };
  const pods: Readonly<Record<string, Pod>> = {
    'without the variable': aPod(withSpec({ containers: [probed] })),
    'with an empty variable': withProbers({}, probed),
    'with a variable that is not JSON': withProbers('{"', probed),
    'with a variable that is a list': withProbers([{}], probed),
    'with probers that are no objects': withProbers({ '/own': 'x', '/other': null }, probed),
  };
  for (const [name, pod] of Object.entries(pods)) {
    it(name, () => assert.equal(withOwnProbes(pod), pod));
  }
});

describe('a probe is not touched', () => {
  const path = '/app-health/app/livez';
  const rows: Readonly<Record<string, readonly [probers: Json, probe: Json]>> = {
    'that was not redirected': [{ [path]: { tcpSocket: { port: 1 } } }, { httpGet: { path: '/own', port: 80 } }],
    'that asks nothing over HTTP': [{ [path]: { tcpSocket: { port: 1 } } }, { exec: { command: ['true'] } }],
    'whose original has no handler': [{ [path]: { timeoutSeconds: 1 } }, redirected(path)],
    'whose original has a handler that is no object': [{ [path]: { httpGet: '/x' } }, redirected(path)],
  };
  for (const [name, [probers, livenessProbe]] of Object.entries(rows)) {
    it(name, () => {
      const pod = withProbers(probers, { name: 'app', livenessProbe });
      assert.deepEqual(withOwnProbes(pod), pod);
    });
  }
});

describe('restoring, for any probes', () => {
  const port = fc.integer({ min: 1, max: 65_535 });
  const handler = fc.oneof(
    fc.tuple(webPath, port).map(([path, number]): Json => ({ httpGet: { path, port: number } })),
    fc.tuple(fc.constantFrom('tcpSocket', 'grpc'), port).map(([kind, number]): Json => ({ [kind]: { port: number } })),
  );
  const timings = fc.dictionary(fc.constantFrom('periodSeconds', 'failureThreshold'), fc.nat(),
    { noNullPrototype: true });
  const containers = fc.uniqueArray(
    fc.tuple(fc.stringMatching(/^[a-z]{1,6}$/), handler, timings), { selector: ([name]) => name, maxLength: 4 },
  );

  it('undoes what Istio does, and does nothing more the second time', () => {
    fc.assert(fc.property(containers, (specs) => {
      const paths = specs.map(([name]) => `/app-health/${name}/livez`);
      const probers = Object.fromEntries(specs.map(([, probe], index) => [paths[index], probe]));
      const own = specs.map(([name, probe, times]) => ({ name, livenessProbe: { ...times, ...probe } }));
      const injected = specs.map(([name, , times], index) =>
        ({ name, livenessProbe: { ...times, ...redirected(paths[index] ?? '') } }));
      const restored = withOwnProbes(withProbers(probers, ...injected));
      assert.deepEqual(restored, withProbers(probers, ...own));
      assert.deepEqual(withOwnProbes(restored), restored);
    }), { numRuns: 200 });
  });
});
