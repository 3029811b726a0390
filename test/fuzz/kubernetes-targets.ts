// Readers of what API servers of targets, tenants' kubeconfigs and streams to pods bring.
import { strict as assert } from 'node:assert';
import { FieldReader } from '../../kubernetes/json/json-fields.ts';
import { JsonLines } from '../../kubernetes/json/json-lines.ts';
import { readKubeconfig } from '../../kubernetes/credentials/kubeconfig.ts';
import { readSlim } from '../../kubernetes/json/managed-fields.ts';
import { toApiError } from '../../kubernetes/http/api-answer.ts';
import { continueTokenOf, readersOf } from '../../kubernetes/json/watched-fields.ts';
import { encodeFrame, FrameReader, OPCODES } from '../../kubernetes/stream/websocket-frames.ts';
import type { Pod } from '../../api/objects/core.ts';
import { TARGET_POD_FIELDS } from '../../delegate-controller/target-cache/target-pod.ts';
import type { SelectedFields } from '../../model/objects/fields.ts';
import { AppError } from '../../process/errors.ts';
import { aDelegate, inPhase } from '../support/objects/builders.ts';
import { hold, type FuzzTarget } from './fuzz-target.ts';

const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://target.example:6443", certificate-authority-data: Q0E=}}]
users: [{name: u, user: {token: SECRET-TOKEN}}]
`;
const CERTIFICATE_KUBECONFIG =
  'current-context: c\ncontexts:\n- name: c\n  context:\n    cluster: k\n    user: u\nclusters:\n- name: k\n  ' +
    'cluster:\n    server: https://[2001:db8::1]:6443/path\nusers:\n- name: u\n  user: &u\n    ' +
    'client-certificate-data: Q0VSVA==\n    client-key-data: S0VZ\n- name: v\n  user: *u\n';

/** A kubeconfig in a Secret, which a tenant wrote. */
const kubeconfig: FuzzTarget = {
  name: 'kubeconfig', reads: 'a kubeconfig in a Secret, from a tenant', shape: 'text', maxBytes: 4_096,
  tokens: [
    'exec:', 'auth-provider:', 'tokenFile: /etc/passwd', 'certificate-authority: /x', 'client-key: /x',
    'proxy-url: http://x', 'insecure-skip-tls-verify: true', 'tls-server-name: x', 'http://', 'https://169.254.169.254',
    'https://0x7f.1', 'https://[::ffff:a9fe:a9fe]', 'user:pw@', '&a ', '*a', '<<: *a', '!!js/function ', '!!binary ',
    '---\n', '? ', '|-\n', '>+\n', '[', '{', '- ', '\n  ', 'username: u',
  ],
  seeds: [
    KUBECONFIG, CERTIFICATE_KUBECONFIG, KUBECONFIG.replace('token: SECRET-TOKEN', 'exec: {command: sh}'),
    JSON.stringify({ 'current-context': 'c', contexts: [], clusters: [], users: [] }),
  ],
  async run(input) {
    const readText = (path: string): Promise<string> => Promise.reject(new Error(`a file is read: ${path}`));
    const connection =
      await readKubeconfig({ text: input.toString('utf8'), author: 'tenant', readText }).catch((error: unknown) => {
      if (error instanceof AppError && ['KubeconfigInvalid', 'KubeconfigRefused'].includes(error.code)) {
        return undefined;
      }
      throw error;
    });
    if (connection === undefined) return;
    const { server, credentials, insecure, proxy, serverName } = connection;
    hold(
      server.protocol === 'https:' && server.username === '' && server.password === '',
      'the server is https and holds no password',
    );
    hold(!/^169\.254\.|^\[::ffff:a9fe:|^\[fe80:/.test(server.hostname), 'the server is no metadata service');
    hold(
      !insecure && proxy === undefined && serverName === undefined,
      'TLS is checked, directly, against the name that is dialled',
    );
    hold(
      ['none', 'token', 'certificate'].includes(credentials.kind),
      `a tenant has no credentials of kind ${credentials.kind}`,
    );
  },
};

const POD = JSON.stringify(aDelegate(inPhase('Running')));
const EVENT = `{"type":"MODIFIED","object":${POD}}`;
const SELECTION: SelectedFields = {
  kind: true, metadata: { name: true, namespace: 'shared', labels: true },
  status: ({ kind }) => (kind === 'Pod' ? { phase: true, conditions: { type: true } } : undefined),
};
const JSON_TOKENS = [
  '"kind":"Pod"', '"status":', '"metadata":{', '"phase"', '"managedFields":[', '\\u0022', '\\', '"', ',', ':', '[', ']',
  '{', '}', '\u00e9', 'true', '-0', '1e5', ' \n\t',
];

/** What a selection keeps of a parsed document. */
function pick(value: unknown, selection: unknown): unknown {
  if (selection === true || selection === 'shared' || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => pick(element, selection));
  const fields = Object.entries(selection as Record<string, unknown>).filter(([name]) => Object.hasOwn(value, name));
  const early = fields.filter(([, inner]) => typeof inner !== 'function');
  const picked =
    Object.fromEntries(early.map(([name, inner]) => [name, pick((value as Record<string, unknown>)[name], inner)]));
  for (const [name, inner] of fields) {
    const decided: unknown =
      typeof inner === 'function' ? (inner as (others: object) => unknown)({ ...picked }) : undefined;
    if (decided !== undefined) picked[name] = pick((value as Record<string, unknown>)[name], decided);
  }
  return picked;
}

const selecting = new FieldReader(SELECTION);
const reading = new FieldReader(true);

/** Reads what may be no JSON; undefined then. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined; // whoever reads it begins again
    throw error;
  }
}

/** Fields read straight from bytes are those that a parser would have found. */
const jsonFields: FuzzTarget = {
  name: 'json-fields', reads: "answers of a target's API server, selected fields of them",
  shape: 'json', maxBytes: 4_096, tokens: JSON_TOKENS, seeds: [
    POD, '{"kind":"Pod","kind":"Node","status":{"phase":1}}', '[{"metadata":{"name":"\\u0061"}}]', ' "text" ', '-1.5e3',
  ],
  run(input) {
    const text = input.toString('utf8');
    const whole = attempt(() => reading.read(input));
    const selected = attempt(() => selecting.read(input));
    const expected = attempt(() => JSON.parse(text) as unknown);
    if (expected === undefined || !Buffer.from(text, 'utf8').equals(input)) return;
    assert.deepEqual(whole, expected);
    assert.deepEqual(selected, pick(expected, SELECTION));
  },
};

const podReaders = readersOf<Pod>(TARGET_POD_FIELDS);

/** A watch is the same however it is cut, and never more than what was sent. */
const watchLines: FuzzTarget = {
  name: 'watch-lines', reads: "lines of a watch and pages of a list of a target's pods", shape: 'json', maxBytes: 8_192,
  tokens: [...JSON_TOKENS, '\n', '{"type":"ERROR","object":{"code":410}}\n', '"BOOKMARK"', '"items":[', '"continue":"'],
  seeds: [
    EVENT, `${EVENT}\n${EVENT}\n`, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5"}}}\n`,
    `{"metadata":{"resourceVersion":"7","continue":"next"},"items":[${POD}]}`,
  ],
  run(input) {
    const cut = input.length >> 1;
    const oneByOne = (
      chunks: readonly Buffer[], read: (bytes: Buffer, start: number, end: number) => unknown,
    ): unknown[] | undefined => {
      const lines = new JsonLines(read);
      return attempt(() => chunks.flatMap((chunk) => [...lines.push(chunk)]));
    };
    assert.deepEqual(
      oneByOne([input], podReaders.event), oneByOne([input.subarray(0, cut), input.subarray(cut)], podReaders.event),
      'the lines of a watch, cut elsewhere',
    );
    attempt(() => podReaders.page(input));
    const slim = attempt(() => readSlim(input));
    const plain = attempt(() => JSON.parse(input.toString('utf8')) as unknown);
    hold(
      plain === undefined || slim !== undefined || input.includes('managedFields'),
      'what is JSON stays JSON without its managedFields',
    );
    const token = continueTokenOf(input);
    hold(token === undefined || typeof token === 'string', 'a token of a page is a text');
  },
};

/** What API servers answer in anger. */
const errorAnswers: FuzzTarget = {
  name: 'error-answers', reads: "error answers of a target's API server",
  shape: 'json', maxBytes: 8_192, tokens: ['"reason":', '"message":', '"code":', '"details":{"retryAfterSeconds":'],
  seeds: ['{"kind":"Status","reason":"Forbidden","message":"no","code":403}', '<html>502</html>', ''],
  run(input) {
    const { reason, message, retryAfterMs = 0 } =
      toApiError({ status: 403, retryAfter: input.toString('latin1').slice(0, 8), body: input });
    hold(
      typeof reason === 'string' && typeof message === 'string' && message.length <= 4_096,
      'reason and message are texts of bounded length',
    );
    hold(retryAfterMs >= 0 && retryAfterMs <= 300_000, 'no server makes us wait for longer than five minutes');
  },
};

const frame = (opcode: number, text: string): Buffer => {
  const masked = encodeFrame(opcode, Buffer.from(text), Buffer.alloc(4));
  const head = masked.length - text.length - 4;
  return Buffer.concat(
    [Buffer.from([masked[0] ?? 0, (masked[1] ?? 0) & 0x7f]), masked.subarray(2, head), Buffer.from(text)],
  );
};

/** Frames of a stream to a pod are the same however they are cut. */
const websocketFrames: FuzzTarget = {
  name: 'websocket-frames', reads: "frames of exec, attach and port-forward from a target's API server",
  shape: 'bytes', maxBytes: 2_048, tokens: ['\u0081', '\u0002', '~', '\u007f'],
  seeds: [
    frame(OPCODES.binary, 'hello'),
    Buffer.concat([frame(OPCODES.text, 'x'.repeat(200)), frame(OPCODES.ping, ''), frame(OPCODES.close, '\u0003')]),
    Buffer.from([0x02, 1, 65, 0x80, 1, 66]),
  ],
  run(input) {
    const messagesOf = (chunks: readonly Buffer[]): unknown => {
      const reader = new FrameReader();
      try {
        return chunks.flatMap((chunk) => reader.push(chunk))
          .map(({ opcode, payload }) => [opcode, payload.toString('latin1')]);
      } catch (error) {
        hold(
          error instanceof Error && error.message.startsWith('the server '),
          `a refusal says what the server did: ${String(error)}`,
        );
        return 'refused';
      }
    };
    const third = Math.floor(input.length / 3);
    assert.deepEqual(messagesOf([input]), messagesOf(
      [input.subarray(0, third), input.subarray(third, third + 1), input.subarray(third + 1)],
    ));
  },
};

/** All of them. */
export const KUBERNETES_TARGETS: readonly FuzzTarget[] =
  [kubeconfig, jsonFields, watchLines, errorAnswers, websocketFrames];
