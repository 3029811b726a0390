// Whether something that is secret stands where it must not: in logs, events, status, metrics, the support archive.
// Every Secret of the clusters is a canary, and so is every token that was handed out.
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { EVENTS, SECRETS } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';

const JSON_WEB_TOKEN = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g;
const SHORTEST = 8;

/** A text that must not be found, and what it is. */
export interface Canary {
  readonly what: string;
  readonly text: string;
}

/** Where to look; `name` is for the message. */
export interface Output {
  readonly name: string;
  readonly text: string;
}

/**
 * The canaries in all Secrets of a cluster: values as they are and as base64, tokens within them, private keys line by
 * line.
 */
export async function secretsOf(client: ClusterClient, cluster: string): Promise<readonly Canary[]> {
  const secrets = await client.list(SECRETS);
  return secrets.flatMap(({ metadata, data = {} }) =>
    Object.entries(data).flatMap(([key, base64]) => canariesIn(
      `${cluster} ${metadata.namespace}/${metadata.name} ${key}`, Buffer.from(base64, 'base64').toString('utf8'),
      base64,
    )));
}

/** The canaries in one value. */
export function canariesIn(
  what: string, value: string, base64 = Buffer.from(value).toString('base64'),
): readonly Canary[] {
  const tokens = (value.match(JSON_WEB_TOKEN) ?? []).flatMap((token) => [token, token.split('.')[2] ?? '']);
  const isPublic = value.includes('BEGIN CERTIFICATE') && !value.includes('PRIVATE KEY');
  const keyLines = value.includes('PRIVATE KEY')
    ? value.split('\n').filter((line) => line.length > 40 && !line.includes('-----'))
    : [];
  const whole = isPublic || value.includes('\n') ? [] : [value, base64];
  return [...tokens, ...keyLines, ...whole, ...(isPublic ? [] : [base64])].filter((text) => text.length >= SHORTEST)
    .map((text) => ({ what, text }));
}

/** Every event of a cluster, and every object of these kinds without what only says so of Secrets themselves. */
export async function outputsOf(
  client: ClusterClient, cluster: string, types: readonly ResourceType[],
): Promise<readonly Output[]> {
  return Promise.all([EVENTS, ...types].map(
    async (type) => ({ name: `${cluster} ${type.plural}`, text: JSON.stringify(await client.list(type)) }),
  ));
}

/** A file as it is, or the contents of one that is compressed. */
export async function fileOutput(path: string): Promise<Output> {
  const bytes = await readFile(path);
  return { name: path, text: (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8') };
}

/** What was found where; empty when all is well. */
export function found(canaries: readonly Canary[], outputs: readonly Output[]): readonly string[] {
  return outputs.flatMap(
    ({ name, text }) => canaries.filter((canary) => text.includes(canary.text)).map(({ what }) => `${what} in ${name}`),
  );
}
