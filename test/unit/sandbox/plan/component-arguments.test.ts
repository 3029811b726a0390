// The command lines of the programs: what makes a sandbox behave as a real cluster, and what keeps it to this machine.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { componentNames, type ComponentName } from '../../../../sandbox/plan/cluster-plan.ts';
import { certificateRequests, componentArguments } from '../../../../sandbox/plan/component-arguments.ts';
import { sampleTarget } from '../sample-plan.ts';

const has = (name: ComponentName, flag: string, change = {}): boolean =>
  componentArguments(sampleTarget(change), name).includes(flag);
const flagNames = (args: readonly string[]): readonly string[] => args.map((flag) => flag.split('=')[0]!);

const limits = (name: ComponentName, change = {}): readonly string[] =>
  componentArguments(sampleTarget(change), name).filter((flag) => flag.startsWith('--kube-api-'));
const auditing = (audit: boolean): readonly string[] =>
  componentArguments(sampleTarget({ audit }), 'kube-apiserver').filter((flag) => flag.startsWith('--audit'));

describe('componentArguments', () => {
  it('leaves out the signers of certificate requests in a sandbox with many targets', () => {
    const signing = (targets: number) => componentArguments(
      sampleTarget({ targets }), 'kube-controller-manager',
    ).filter((flag) => flag.startsWith('--cluster-signing'));
    assert.deepEqual([signing(8).length, signing(9).length], [2, 0]);
  });

  for (const name of componentNames) {
    it(`${name} gets every flag once`, () => {
      const names = flagNames(
        componentArguments(sampleTarget({ audit: true, clientLimits: { scheduler: 9, controllerManager: 9 } }), name),
      );
      assert.deepEqual(names, [...new Set(names)]);
    });

    it(`${name} listens on this machine only, or not at all`, () => {
      const listening = componentArguments(sampleTarget(), name).filter(
        (flag) => /^--(bind-address|listen-|server-address|advertise|secure-port=0)/.test(flag),
      );
      assert.ok(listening.length > 0);
      for (const flag of listening) assert.match(flag, /=(127\.0\.0\.1(:\d+)?|unix:\/\/[a-z-]+\.sock:0|0)$/);
    });
  }

  const rows: readonly (readonly [what: string, name: ComponentName, flag: string])[] = [
    ['authorization is by RBAC', 'kube-apiserver', '--authorization-mode=Node,RBAC'],
    ['each cluster has its own service range', 'kube-apiserver', '--service-cluster-ip-range=10.65.0.0/16'],
    [
      'the API server shows kubelets a client certificate', 'kube-apiserver',
      '--kubelet-client-certificate=/sandbox/target-1/pki/kubelet-client.crt',
    ],
    [
      'the API server knows nodes by address', 'kube-apiserver',
      '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
    ],
    [
      'aggregated API servers can trust the front proxy', 'kube-apiserver',
      '--requestheader-client-ca-file=/sandbox/target-1/pki/front-proxy-ca.crt',
    ],
    [
      'tokens are signed', 'kube-apiserver',
      '--service-account-signing-key-file=/sandbox/target-1/pki/service-account.key',
    ],
    [
      'tokens are checked with the public half', 'kube-apiserver',
      '--service-account-key-file=/sandbox/target-1/pki/service-account.pub',
    ],
    [
      'the token controller signs with the same key', 'kube-controller-manager',
      '--service-account-private-key-file=/sandbox/target-1/pki/service-account.key',
    ],
    ['pods learn the authority', 'kube-controller-manager', '--root-ca-file=/sandbox/target-1/pki/ca.crt'],
    ['controllers have identities of their own', 'kube-controller-manager', '--use-service-account-credentials=true'],
    [
      'certificate signing requests are signed', 'kube-controller-manager',
      '--cluster-signing-key-file=/sandbox/target-1/pki/ca.key',
    ],
    ['a single instance elects no leader', 'kube-scheduler', '--leader-elect=false'],
    ['kwok manages its own nodes only', 'kwok', '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake'],
    ['nodes name the kubelet proxy as kubelet port', 'kwok', '--node-port=1012'],
    ['kwok itself is behind the kubelet proxy', 'kwok', '--server-address=127.0.0.1:1013'],
    ['etcd spares the disk', 'etcd', '--unsafe-no-fsync'],
  ];
  for (const [what, name, flag] of rows) {
    it(`${what}: ${name} ${flag.split('=')[0]}`, () => assert.ok(has(name, flag)));
  }

  it('client limits are the stock ones unless given', () => {
    assert.deepEqual(limits('kube-scheduler'), []);
    assert.deepEqual(limits('kube-controller-manager'), []);
    const change = { clientLimits: { scheduler: 2_000, controllerManager: 300 } };
    assert.deepEqual(limits('kube-scheduler', change), ['--kube-api-qps=2000', '--kube-api-burst=4000']);
    assert.deepEqual(limits('kube-controller-manager', change), ['--kube-api-qps=300', '--kube-api-burst=600']);
  });

  it('audits only when asked to, into one file that is never rotated', () => {
    assert.deepEqual(auditing(false), []);
    assert.ok(auditing(true).includes('--audit-log-path=/sandbox/target-1/audit.log'));
    assert.ok(auditing(true).includes('--audit-log-maxsize=0'));
  });
});

describe('certificateRequests', () => {
  const requests = certificateRequests(sampleTarget());

  it('the API server is valid for its address, its names and its Service', () => {
    assert.ok(
      requests.apiserver.ipAddresses.includes('127.0.0.1') && requests.apiserver.ipAddresses.includes('10.65.0.1'),
    );
    assert.ok(requests.apiserver.dnsNames.includes('localhost') && requests.apiserver.dnsNames.includes(
      'kubernetes.default.svc',
    ));
    assert.deepEqual(requests.apiserver.usages, ['server']);
  });

  it('the control plane uses the identities that RBAC knows', () => {
    assert.equal(requests['kube-scheduler'].commonName, 'system:kube-scheduler');
    assert.equal(requests['kube-controller-manager'].commonName, 'system:kube-controller-manager');
    assert.equal('organizations' in requests['kube-scheduler'], false);
  });

  it('only administrators and the kubelet client are masters', () => {
    const masters = Object.entries(requests).filter(([, request]) => 'organizations' in request);
    assert.deepEqual(masters.map(([name]) => name), ['kubelet-client', 'kwok', 'admin']);
  });
});
