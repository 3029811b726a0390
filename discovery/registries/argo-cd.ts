// Argo CD: a Secret for each cluster, with `name`, `server` and a JSON `config`. Commands and cloud logins in it are
// never run: this process would run what anyone who writes Secrets there names.
import type { Secret } from '../../api/objects/core.ts';
import { isRecord, parsedJson } from '../../model/objects/json-values.ts';
import { composeKubeconfig } from '../entry/composed-kubeconfig.ts';
import { entryOf, isLeaving, secretText, textAt, valueAt } from '../entry/registry-fields.ts';
import { refused, waiting, type RegisteredAccess, type RegisteredCluster } from '../entry/registered-cluster.ts';
import type { Registry } from '../entry/registry.ts';

/** Argo CD's address of the cluster that it runs in. */
const IN_CLUSTER = /^https:\/\/kubernetes\.default\.svc(\.cluster\.local)?(:443)?\/?$/;
const LOGINS: readonly (readonly [field: string, instead: string])[] = [
  ['execProviderConfig', 'runs a command'], ['awsAuthConfig', 'logs in to AWS'],
];

/** The registry. */
export const ARGO_CD: Registry = {
  kinds: [],
  secretSelector: 'argocd.argoproj.io/secret-type=cluster',
  read: ({ secrets }) => secrets.filter((secret) => !isLeaving(secret)).map((secret) => ({
    entry: entryOf('Secret', secret.metadata),
    ...namedIn(secret),
    labels: secret.metadata.labels ?? {},
    access: accessOf(secret),
  })),
};

/** Argo CD gives no name to a cluster whose Secret has none, and its ApplicationSets find it by none. */
function namedIn(secret: Secret): Pick<RegisteredCluster, 'name' | 'unnamed'> {
  const name = secretText(secret, 'name');
  if (name !== undefined) return { name };
  return { name: secretText(secret, 'server') ?? secret.metadata.name ?? '', unnamed: true };
}

function accessOf(secret: Secret): RegisteredAccess {
  const server = secretText(secret, 'server');
  if (server === undefined) return waiting('the Secret has no key server');
  if (IN_CLUSTER.test(server)) return { kind: 'this-cluster' };
  const config = parsedJson(secretText(secret, 'config') ?? '{}');
  if (!isRecord(config)) return refused('its config is not a JSON object; register the cluster again');
  for (const [field, what] of LOGINS) {
    if (config[field] !== undefined && config[field] !== null) return refused(
      `its config has ${field}, which ${what}; give the cluster a ServiceAccount and register it with bearerToken`,
    );
  }
  return composeKubeconfig({
    server,
    certificateAuthorityData: textAt(config, 'tlsClientConfig.caData'),
    serverName: textAt(config, 'tlsClientConfig.serverName'),
    insecure: valueAt(config, 'tlsClientConfig.insecure') === true,
    proxyUrl: textAt(config, 'proxyUrl'),
    token: textAt(config, 'bearerToken'),
    clientCertificateData: textAt(config, 'tlsClientConfig.certData'),
    clientKeyData: textAt(config, 'tlsClientConfig.keyData'),
    username: textAt(config, 'username'),
    password: textAt(config, 'password'),
  });
}
