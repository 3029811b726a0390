// What a webhook configuration says about the address of the webhook and about whom it trusts.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasBundle, isCertManagers, trusts, webhookHosts } from '../../../../webhook/registration/webhook-address.ts';

describe('webhook configurations', () => {
  const configuration = (clientConfig: object, annotations = {}) =>
    ({ metadata: { name: 'isthmus', annotations }, webhooks: [{ name: 'w', clientConfig }] });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  it('say under which names the webhook is reached', () => {
    const hosts = webhookHosts([
      configuration({ url: 'https://webhook.example:9443/x' }),
      configuration({ url: 'https://[::1]:1/' }), configuration({ url: 'no url' }),
      configuration({ service: { name: 's', namespace: 'n' } }), { metadata: {} },
    ]);
    assert.deepEqual(hosts, ['127.0.0.1', '::1', 'localhost', 's.n.svc', 'webhook.example']);
  });
  it('say whom they trust, and who writes that', () => {
    assert.ok(hasBundle(configuration({ caBundle: base64('A\n') }), 'A\n') && !hasBundle(configuration({}), 'A\n'));
    assert.ok(trusts(configuration({ caBundle: base64('A\nB\n') }), 'B\n') && !trusts(
      configuration({ caBundle: base64('A\n') }), 'B\n',
    ));
    assert.ok(isCertManagers(configuration({}, { 'cert-manager.io/inject-ca-from': 'a/b' })) && !isCertManagers(
      configuration({}),
    ));
  });
});
