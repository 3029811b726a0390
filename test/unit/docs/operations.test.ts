// Figures, images and ports on the page of operations are those of results, manifests and code. The glossary stays
// short, and the list of pages complete.
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { BROKER_SECRET, CONNECT_PORT, TUNNEL_PORT } from '../../../manifests/objects/gateway.ts';
import { WIREGUARD_PORT } from '../../../model/network/pod-plane.ts';
import { DNS_PORT } from '../../../manifests/objects/service-discovery.ts';
import { WEBHOOK_SERVICE_PORT } from '../../../manifests/objects/webhook-configuration.ts';
import { HEALTH_PORT, WEBHOOK_PORT } from '../../../manifests/objects/workloads.ts';
import {
  GIVEN_CERTIFICATE_SECRET, INVITATION_KEY_SECRET, WEBHOOK_CERTIFICATES_SECRET,
} from '../../../api/objects/own-names.ts';
import { GATEWAY_SECRET } from '../../../gateway/broker/gateway-secret.ts';
import { USED_TOKENS_SECRET } from '../../../gateway/broker/member-store.ts';
import { GATEWAY_LEASE_TIMINGS } from '../../../gateway/main.ts';
import { QUICK_LEASE_TIMINGS } from '../../../kubernetes/lease/lease-record.ts';
import { VXLAN } from '../../../pod-plane/plan/network-plan.ts';
import { PLANE_KEY_SECRET } from '../../../pod-plane/plan/plane-keys.ts';
import { environment } from '../../../process/config.ts';
import { PAGES, ROOT, textOf } from '../../support/docs/documented-blocks.ts';
import { measuredRow } from '../../support/docs/measured-rows.ts';

const PAGE = 'docs/operations.md';
const MOST_TERMS = 40;

type Amounts = Readonly<Record<'cpu' | 'memory', string>>;

interface Values {
  readonly defaults: {
    readonly replicas: number;
    readonly resources: Readonly<Record<'requests' | 'limits', Amounts>>;
  };
}

/** A row that repeats a figure of a page of results. */
const FIGURE = /^\| ([^|]+) \| [^|]+ \| \[results\]\((results\/[\w-]+\.md)\) \|$/gm;

/** The page with the figures of the pages of results. */
function withFigures(text: string): string {
  return text.replaceAll(FIGURE, (_row, what: string, page: string) =>
    `| ${what} | ${measuredRow(`docs/${page}`, what)[0]} | [results](${page}) |`);
}

describe('the page of operations', () => {
  const text = textOf(PAGE);
  const values = parse(textOf('manifests/helm/isthmus/values.yaml')) as Values;

  it('repeats figures as they were measured; `npm run update-golden` makes it so', () => {
    const wanted = withFigures(text);
    if (environment().updateGolden) writeFileSync(join(ROOT, PAGE), wanted);
    assert.ok((text.match(/\[results\]\(/g) ?? []).length > 4);
    assert.equal(text, wanted);
  });

  it('lists each image that the manifests name', () => {
    const paths = readdirSync(join(ROOT, 'manifests/kustomize'), { recursive: true, encoding: 'utf8' });
    const files = paths.filter((path) => path.endsWith('.yaml')).map((path) => textOf(`manifests/kustomize/${path}`));
    const images = [...files.join('\n').matchAll(/^ +(?:- )?image: (\S+)$/gm)].map(([, image = '']) => image);
    const listed = [...text.matchAll(/^\| `([\w-]+:[\d.]+)` \|/gm)].map(([, image = '']) => image);
    assert.deepEqual(listed.toSorted(), [...new Set(images)].toSorted());
  });

  it('names each port that something listens on', () => {
    const served = [WEBHOOK_SERVICE_PORT, WEBHOOK_PORT, HEALTH_PORT, TUNNEL_PORT, CONNECT_PORT, DNS_PORT];
    const ports = [...served, WIREGUARD_PORT, VXLAN.port];
    const cells = text.split('\n').filter((line) => /\b(?:TCP|UDP)\b/.test(line)).join('\n');
    assert.deepEqual(ports.filter((port) => !new RegExp(`\\b${port}\\b`).test(cells)), []);
  });

  it('names the Secrets that are worth a backup', () => {
    const own = [WEBHOOK_CERTIFICATES_SECRET, INVITATION_KEY_SECRET];
    const secrets = [...own, GATEWAY_SECRET, BROKER_SECRET, USED_TOKENS_SECRET, PLANE_KEY_SECRET];
    assert.deepEqual(secrets.filter((name) => !text.includes(`\`${name}\``)), []);
    assert.ok(!text.includes(GIVEN_CERTIFICATE_SECRET)); // the user's own
  });

  it('says how long Leases last, and what a component asks for', () => {
    const { leaseMs, slowLeaseMs = 0 } = QUICK_LEASE_TIMINGS;
    assert.ok(text.includes(`lasts ${leaseMs / 1_000} s, and ${slowLeaseMs / 1_000} s while`));
    assert.ok(text.includes(`A gateway's Lease lasts ${GATEWAY_LEASE_TIMINGS.leaseMs / 1_000} s`));
    const { requests, limits } = values.defaults.resources;
    const asked = `${requests.cpu} CPU and ${requests.memory} of memory`;
    assert.ok(text.includes(`requests ${asked}, with a limit of ${limits.memory}`));
    assert.equal(values.defaults.replicas, 2);
  });
});

interface Rule {
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
}

/** What the components of a role can change, as `verb resource`. */
function changesOf(role: 'source' | 'target'): readonly string[] {
  const folder = `manifests/kustomize/components/permissions-${role}`;
  const files = readdirSync(join(ROOT, folder)).filter((name) => name !== 'kustomization.yaml');
  const rules = files.flatMap((name) => parseAllDocuments(textOf(`${folder}/${name}`))).flatMap(
    (document) => (document.toJS() as { readonly rules?: readonly Rule[] } | null)?.rules ?? [],
  );
  return rules.flatMap(({ resources = [], verbs }) => verbs.filter((verb) => !['get', 'list', 'watch'].includes(verb))
    .flatMap((verb) => resources.map((resource) => `${verb} ${resource}`)));
}

describe('the page of installation', () => {
  it('says what a role cannot', () => {
    const [source, target] = [changesOf('source'), changesOf('target')];
    assert.ok(source.includes('create pods/binding') && target.includes('create pods'));
    const matching = (changes: readonly string[], pattern: RegExp) => changes.filter((change) => pattern.test(change));
    assert.deepEqual(matching(source, /create pods$|pods\/(?:exec|attach|portforward)|roles|rolebindings/), []);
    assert.deepEqual(matching(target, /pods\/(?:binding|eviction)| nodes/), []);
    assert.ok(textOf('docs/install.md').includes('In a source nothing of Isthmus can create a pod, exec into one or ' +
      'grant permissions; in a target nothing can bind or evict a pod, or change a Node'));
  });
});

describe('the glossary', () => {
  const rows = textOf('docs/glossary.md').split('\n').filter((line) => line.startsWith('| '));
  const terms = rows.slice(1).map((line) => line.split('|')[1]?.trim() ?? '');

  it('has at most forty terms, sorted, each once', () => {
    assert.ok(terms.length <= MOST_TERMS, String(terms.length));
    assert.equal(new Set(terms).size, terms.length);
    const sorted = terms.toSorted((a, b) => a.toLowerCase().localeCompare(b.toLowerCase(), 'en'));
    assert.deepEqual(terms, sorted);
  });

  it('explains words that the documentation uses', () => {
    const pages = PAGES.filter((page) => page !== 'docs/glossary.md').map(textOf).join('\n').toLowerCase();
    assert.deepEqual(terms.filter((term) => !pages.includes(term.toLowerCase())), []);
  });
});

describe('the list of pages', () => {
  it('leads to each page of docs', () => {
    const list = textOf('docs/README.md');
    const names = PAGES.map((page) => /^docs\/([\w-]+\.md)$/.exec(page)?.[1] ?? 'README.md');
    assert.deepEqual(names.filter((name) => name !== 'README.md' && !list.includes(`(${name})`)), []);
  });
});
