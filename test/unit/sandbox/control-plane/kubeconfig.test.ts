// The kubeconfigs a sandbox hands out, read as kubectl reads them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { kubeconfigText } from '../../../../sandbox/control-plane/kubeconfig.ts';

const decoded = (data: string | undefined): string => Buffer.from(data ?? '', 'base64').toString();

describe('kubeconfigText', () => {
  const text = kubeconfigText({
    name: 'target-1',
    user: 'target-1-admin',
    server: 'https://127.0.0.1:6443',
    authority: 'AUTHORITY',
    client: { certificate: 'CERTIFICATE', key: 'KEY' },
  });
  const config = new KubeConfig();
  config.loadFromString(text);

  it('has one context, named after the cluster, and uses it', () => {
    assert.equal(config.getCurrentContext(), 'target-1');
    assert.deepEqual(config.getContexts().map((context) => context.name), ['target-1']);
    assert.equal(config.getCurrentUser()?.name, 'target-1-admin');
  });

  it('embeds server, authority and client certificate', () => {
    assert.equal(config.getCurrentCluster()?.server, 'https://127.0.0.1:6443');
    assert.equal(decoded(config.getCurrentCluster()?.caData), 'AUTHORITY');
    assert.equal(decoded(config.getCurrentUser()?.certData), 'CERTIFICATE');
    assert.equal(decoded(config.getCurrentUser()?.keyData), 'KEY');
  });

  it('refers to no file', () => assert.doesNotMatch(
    text, /certificate-authority:|client-certificate:|client-key:|tokenFile/,
  ));
});
