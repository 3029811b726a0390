// The configuration of a real node's programs, where a wrong line would harm the machine or the sandbox's borders.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { componentArguments, certificateRequests } from '../../../../sandbox/plan/component-arguments.ts';
import { realNodeObjects } from '../../../../sandbox/plan/node-objects.ts';
import { nodeFiles } from '../../../../sandbox/plan/real-node-files.ts';
import { sampleTarget } from '../sample-plan.ts';

const plan = sampleTarget({ firstSlot: 7, nodes: 2 });
const network = plan.realNetwork!;
const node = network.nodes[1]!;
const registry = 'http://198.18.8.1:5000';
const files = nodeFiles(plan, node, { registry, cniPlugins: '/usr/lib/cni', runc: '/usr/sbin/runc' });
const yaml = (name: string): Record<string, unknown> => parse(files[name] ?? '') as Record<string, unknown>;

describe('nodeFiles', () => {
  it('lets kubelet answer nobody without a certificate, and ask the API server who may', () => {
    const { authentication, authorization } = yaml('kubelet.yaml');
    assert.deepEqual([authentication, authorization], [
      { anonymous: { enabled: false }, x509: { clientCAFile: '/sandbox/target-1/pki/ca.crt' } }, { mode: 'Webhook' },
    ]);
  });
  it('points pods at the DNS Service of their own cluster', () => {
    assert.deepEqual(yaml('kubelet.yaml')['clusterDNS'], ['10.65.0.10']);
  });
  it("leaves the machine's connection tracking as it is", () => {
    const { conntrack, mode } = yaml('kube-proxy.yaml');
    assert.deepEqual([mode, conntrack], ['nftables', {
      maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s',
    }]);
  });
  it('pulls from the registry of the sandbox alone', () => {
    const hosts = files['certs.d/_default/hosts.toml'] ?? '';
    assert.deepEqual(hosts.match(/https?:\/\/[^"]+/g), [registry, registry]);
    const folder = '/sandbox/target-1/nodes/target-1-node-2/certs.d';
    assert.ok(files['containerd.toml']?.includes(`config_path = "${folder}"`));
  });
  it('quotes paths', () => {
    const odd = nodeFiles(plan, { ...node, directory: '/a "b"' }, { registry, cniPlugins: '/c\\d', runc: '/e' });
    assert.match(odd['containerd.toml'] ?? '', /conf_dir = "\/a \\"b\\"\/cni"/);
    assert.match(odd['containerd.toml'] ?? '', /bin_dirs = \["\/c\\\\d"\]/);
  });
  it('gives pods addresses of the node, and hides them outside of the cluster only', () => {
    const { plugins } = JSON.parse(files['cni/10-sandbox.conflist'] ?? '') as {
      readonly plugins: readonly { readonly type: string; readonly ipam?: { readonly ranges: unknown } }[];
    };
    assert.deepEqual([plugins.map(({ type }) => type), plugins[0]?.ipam?.ranges], [
      ['ptp', 'portmap'], [[{ subnet: '10.136.2.0/24' }]],
    ]);
    assert.match(files['masquerade.nft'] ?? '', /ip saddr 10\.136\.2\.0\/24 ip daddr != 10\.136\.0\.0\/16 /);
  });
});

describe('nodeFiles of a cluster with both families', () => {
  const dual = sampleTarget({ firstSlot: 7, nodes: 1, families: [['IPv4'], ['IPv6', 'IPv4']] });
  const [first] = dual.realNetwork?.nodes ?? [];
  const both = nodeFiles(dual, first!, { registry, cniPlugins: '/usr/lib/cni', runc: '/usr/sbin/runc' });

  it('gives pods an address and a route of each', () => {
    const { plugins } = JSON.parse(both['cni/10-sandbox.conflist'] ?? '') as {
      readonly plugins: readonly { readonly ipam?: { readonly ranges: unknown; readonly routes: unknown } }[];
    };
    assert.deepEqual([plugins[0]?.ipam?.ranges, plugins[0]?.ipam?.routes], [
      [[{ subnet: 'fd69:7374:686d:1801::/64' }], [{ subnet: '10.136.1.0/24' }]],
      [{ dst: '::/0' }, { dst: '0.0.0.0/0' }],
    ]);
  });
  it('hides pods of both outside of the cluster only', () => assert.deepEqual(
    [...(both['masquerade.nft'] ?? '').matchAll(/^table (\w+) .*?(\w+ daddr != \S+) /gms)].map(([, ...found]) => found),
    [['ip6', 'ip6 daddr != fd69:7374:686d:1800::/56'], ['ip', 'ip daddr != 10.136.0.0/16']],
  ));
  it('has kubelet listen for both, and its certificate and Node name both', () => {
    assert.equal((parse(both['kubelet.yaml'] ?? '') as { readonly address: string }).address, '::');
    const requests = certificateRequests(dual) as Readonly<Record<string, object>>;
    assert.deepEqual(
      (requests['target-1-node-1-server'] as { readonly ipAddresses: unknown }).ipAddresses,
      ['fd69:7374:686d:8::a', '198.18.8.10'],
    );
    assert.deepEqual(realNodeObjects(dual, dual.realNetwork!)[0]?.spec, {
      podCIDR: 'fd69:7374:686d:1801::/64', podCIDRs: ['fd69:7374:686d:1801::/64', '10.136.1.0/24'],
    });
  });
});

describe('a cluster with real nodes', () => {
  it('has an API server that pods reach by its Service, and that reaches them', () => {
    const args = componentArguments(plan, 'kube-apiserver');
    for (const flag of ['bind-address=198.18.8.1', 'advertise-address=198.18.8.1', 'enable-aggregator-routing=true']) {
      assert.ok(args.includes(`--${flag}`), flag);
    }
    assert.ok(!args.includes('--endpoint-reconciler-type=none'));
  });
  it('gives each kubelet the identity that NodeRestriction confines', () => {
    const requests: Readonly<Record<string, unknown>> = certificateRequests(plan);
    assert.deepEqual(requests['target-1-node-2'], {
      commonName: 'system:node:target-1-node-2', organizations: ['system:nodes'], days: 365, usages: ['client'],
    });
    assert.ok('target-1-node-1-server' in requests && 'kube-proxy' in requests);
    assert.ok(!('kube-proxy' in certificateRequests(sampleTarget())));
  });
  it('registers nodes with their range, and leaves their size to kubelet', () => {
    assert.deepEqual(realNodeObjects(plan, network)[0], {
      apiVersion: 'v1', kind: 'Node',
      metadata: { name: 'target-1-node-1', labels: {
        'kubernetes.io/hostname': 'target-1-node-1', 'kubernetes.io/arch': 'amd64', 'kubernetes.io/os': 'linux',
        'topology.kubernetes.io/region': 'eu-west', 'topology.kubernetes.io/zone': 'eu-west-a',
      } },
      spec: { podCIDR: '10.136.1.0/24', podCIDRs: ['10.136.1.0/24'] },
    });
  });
});
