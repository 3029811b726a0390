// What a tenant can do with a Target: its kubeconfig names real servers on this machine, closed, wrong or hostile ones.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { after, afterEach, before, describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import type { Availability } from '../../../targets/availability.ts';
import { CANNOT_BE_REACHED } from '../../../kubernetes/connect/connection-limits.ts';
import { TargetCluster } from '../../../targets/target-cluster.ts';
import { DEFAULT_TENANT_SETTINGS, TenantRules, type TenantSettings } from '../../../targets/access/tenant-rules.ts';
import { parseRange } from '../../../model/network/ip-range.ts';
import type { TargetRef } from '../../../model/naming/target-ref.ts';
import {
  certificatesOfLoopback, HostileServer, tenantKubeconfig, writeForEver, type Answer, type Certificates,
} from '../../support/attackers/hostile-api-server.ts';
import { ScriptedApiServer, status } from '../../support/doubles/scripted-api-server.ts';

const TENANTS: TargetRef = { kind: 'Target', namespace: 'team-a', name: 'own' };
const ADMINISTRATORS: TargetRef = { kind: 'ClusterTarget', name: 'own' };
const LOOPBACK: TenantSettings = { ...DEFAULT_TENANT_SETTINGS, allowed: [parseRange('127.0.0.0/8') ?? assert.fail()] };
const MiB = 1 << 20;

/** What became of a target, and what was logged meanwhile. */
interface Seen {
  readonly availability: Extract<Availability, { readonly kind: 'unavailable' }>;
  readonly log: string;
  readonly target: TargetCluster;
}

let certificates: Certificates;
before(async () => (certificates = await certificatesOfLoopback()));

/** Follows a target with this kubeconfig until it is known what is wrong with it. */
async function follow(t: TestContext, ref: TargetRef, kubeconfig: string, settings = LOOPBACK): Promise<Seen> {
  const source = await ScriptedApiServer.start();
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  return new Promise((resolve, reject) => {
    const changed = (target: TargetCluster) => {
      const { availability } = target;
      if (availability.kind === 'ready') reject(new Error('it is ready'));
      else if (!['Connecting', 'SecretUnreadable', 'SecretMissing'].includes(availability.reason)) resolve(
        { availability, log: lines.join(''), target },
      );
    };
    const listener = {
      sessionOpened: () => undefined, changed, storedDelegation: () => undefined,
      movedTo: async () => undefined, identified: () => undefined,
      isTarget: () => false,
    };
    const environment = {
      source: source.client, sourceConnection: source.connection(),
      sourceId: 's', installNamespace: 'isthmus-system', userAgent: 'isthmus-test', logger,
      tenants: new TenantRules(settings),
    };
    const target = new TargetCluster(ref, environment, listener);
    t.after(async () => {
      await target.stop();
      await source.stop();
    });
    target.update({ kubeconfigSecret: { name: 'kubeconfig' } });
    const secret = {
      metadata: { name: 'kubeconfig', namespace: 'team-a', resourceVersion: '1' },
      data: { config: Buffer.from(kubeconfig).toString('base64') },
    };
    source.list('1', secret).then(() => source.watch('1')).catch(reject);
  });
}

describe('what a tenant is told of a server', () => {
  const html: Answer = (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' })
    .end('<html>canary</html>');
  const answering = (code: number, body: string): Answer => (_request, response) => void response.writeHead(code)
    .end(body);
  const redirect: Answer = (_request, response) => void response.writeHead(302, { location: 'https://127.0.0.1:1/' })
    .end('canary');
  const servers: Record<string, () => Promise<{ readonly server?: HostileServer; readonly kubeconfig: string }>> = {
    'at a port that is closed': async () => {
      const server = await HostileServer.tcp(() => undefined);
      const kubeconfig = tenantKubeconfig(`https://127.0.0.1:${server.port}`, certificates);
      server.stop();
      return { kubeconfig };
    },
    'that speaks another protocol': () => at(HostileServer.tcp((socket) => void socket.end('SSH-2.0-canary\r\n'))),
    'that hangs up': () => at(HostileServer.tcp((socket) => void socket.destroy())),
    'whose certificate is not the one that is expected': async () => {
      const others = await certificatesOfLoopback();
      return at(HostileServer.http(certificates, html), others);
    },
    'whose authority is garbage': () => at(HostileServer.http(certificates, html), { authority: 'no PEM' }),
    'that is a web server': () => at(HostileServer.http(certificates, html)),
    'that leads elsewhere': () => at(HostileServer.http(certificates, redirect)),
    'that finds nothing': () => at(HostileServer.http(certificates, answering(404, '404 page not found canary'))),
    'that asks for a password': () => at(HostileServer.http(certificates, answering(401, 'canary'))),
    'that forbids in words of its own': () =>
      at(HostileServer.http(certificates, answering(403, '{"reason":"Forbidden","message":"canary"}'))),
    'that fails': () => at(HostileServer.http(certificates, answering(500, '{"error":"canary"}'))),
    'that sends JSON of its own': () => at(HostileServer.http(certificates, answering(200, '{"canary":1}'))),
    'that sends what was compressed': () => at(HostileServer.http(
      certificates,
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(8 * MiB))),
    )),
  };
  async function at(starting: Promise<HostileServer>, expected: Pick<Certificates, 'authority'> = certificates) {
    const server = await starting;
    return { server, kubeconfig: tenantKubeconfig(`https://127.0.0.1:${server.port}`, expected) };
  }
  for (const [which, begin] of Object.entries(servers)) {
    it(`is one text, of one ${which} as well`, async (t) => {
      const { server, kubeconfig } = await begin();
      t.after(() => server?.stop());
      const { availability, log } = await follow(t, TENANTS, kubeconfig);
      assert.deepEqual(availability, { kind: 'unavailable', reason: 'Unreachable', message: CANNOT_BE_REACHED });
      assert.match(
        log, /"target":"Target\/team-a\/own","error":"(?!the API server of the target cannot)./,
        'the log says what it was',
      );
    });
  }

  it('is what an API server says, as it says it', async (t) => {
    const said = status(403, 'Forbidden', 'pods is forbidden');
    const server = await HostileServer.http(certificates, answering(403, JSON.stringify(said)));
    t.after(() => server.stop());
    const { availability } =
      await follow(t, TENANTS, tenantKubeconfig(`https://127.0.0.1:${server.port}`, certificates));
    assert.equal(availability.reason, 'Forbidden');
    assert.match(availability.message, /pods is forbidden/);
  });

  it('is more for an administrator', async (t) => {
    const server = await HostileServer.tcp((socket) => void socket.end('SSH-2.0-x\r\n'));
    t.after(() => server.stop());
    const { availability } =
      await follow(t, ADMINISTRATORS, tenantKubeconfig(`https://127.0.0.1:${server.port}`, certificates));
    assert.equal(availability.reason, 'Unreachable');
    assert.notEqual(availability.message, CANNOT_BE_REACHED);
  });
});

describe('an address that Targets may not use', () => {
  let server: HostileServer;
  before(
    async () => (server = await HostileServer.http(certificates, (_request, response) => void response.end('{}'))),
  );
  after(() => server.stop());

  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '0x7f000001']) {
    it(`is rejected where the kubeconfig gives it: ${host}`, async (t) => {
      const { availability } = await follow(
        t, TENANTS, tenantKubeconfig(`https://${host}:${server.port}`, certificates), DEFAULT_TENANT_SETTINGS,
      );
      assert.equal(availability.reason, 'KubeconfigRefused');
      assert.match(
        availability.message, /is an address that Targets may not use; name another one, or ask the administrator/,
      );
      assert.equal(server.connections, 0);
    });
  }

  it('is not told from one where nothing answers, where a name leads to it', async (t) => {
    const { availability, log } = await follow(
      t, TENANTS, tenantKubeconfig(`https://localhost:${server.port}`, certificates), DEFAULT_TENANT_SETTINGS,
    );
    assert.deepEqual(availability, { kind: 'unavailable', reason: 'Unreachable', message: CANNOT_BE_REACHED });
    assert.match(log, /localhost resolves to (127\.0\.0\.1|::1), an address that Targets may not use/);
    assert.equal(server.connections, 0);
  });

  it('is reached by a ClusterTarget', async (t) => {
    await follow(
      t, ADMINISTRATORS, tenantKubeconfig(`https://127.0.0.1:${server.port}`, certificates), DEFAULT_TENANT_SETTINGS,
    );
    assert.ok(server.connections > 0);
  });
});

describe('a target that sends without an end', () => {
  const isWatch = (path: string) => path.includes('watch=true');
  const identity = JSON.stringify({ metadata: { name: 'kube-system', uid: 'u' } });
  const podOf = (index: number, more: object = {}) => ({
    metadata: {
      namespace: 'team-a', name: `p${index}`, resourceVersion: String(index + 1), uid: `u${index}`, ...more,
      labels: { 'multicluster.admiralty.io/parent-uid': `u${index}` },
      annotations:
        { 'multicluster.admiralty.io/parent-name': 'p', 'multicluster.admiralty.io/parent-namespace': 'team-a' },
    },
  });
  /** Answers as an API server without objects does, but for what the test says. */
  const otherwise = (answer: Answer): Answer => (request, response) => {
    const { url } = request;
    if (url.includes('/namespaces/kube-system')) response.end(identity);
    else answer(request, response);
  };
  let pages = 0;
  const attacks: Record<string, readonly [reason: string, says: RegExp, start: () => Promise<HostileServer>]> = {
    'a line of a watch': ['LimitExceeded', /an object of more than 4194304 bytes/, () => HostileServer.http(
      certificates, otherwise((_request, response) => writeForEver(response, Buffer.alloc(65_536, 'x'))),
    )],
    'a line of a watch, byte by byte': ['LimitExceeded', /an object of more than/, () => HostileServer.http(
      certificates, otherwise((_request, response) => writeForEver(response, Buffer.alloc(200, 'x'))),
    )],
    'a line of small values': ['LimitExceeded', /too many values/, () => HostileServer.http(
      certificates,
      otherwise((_request, response) => void response.end(
        `{"type":"ADDED","object":{"metadata":{"x":[${'{},'.repeat(1 * MiB)}{}]}}}\n`,
      )),
    )],
    'pods': ['LimitExceeded', /more than 10000 objects|take more than 32 MiB/,
      () => HostileServer.http(certificates, otherwise((_request, response) => {
      let index = 0;
      const go = (): void => {
        while (!response.stream?.destroyed) {
          index += 1;
          if (!response.write(`${JSON.stringify({ type: 'ADDED', object: podOf(index) })}\n`)) {
            return void response.once('drain', go);
          }
        }
      };
      go();
    }))],
    'the body of an answer': ['LimitExceeded', /an answer of more than 8388608 bytes/, () => HostileServer.http(
      certificates, (_request, response) => writeForEver(response, Buffer.alloc(65_536, 'x')),
    )],
    'pages': ['LimitExceeded', /more than 10000 objects|take more than 32 MiB/,
      () => HostileServer.http(certificates, otherwise(({ url }, response) => {
      if (isWatch(url)) return void response.writeHead(400)
        .end(JSON.stringify(status(400, 'BadRequest', 'no streams')));
      pages += 1;
      const items = Array.from({ length: 500 }, (_, index) => podOf(pages * 500 + index));
      response.end(JSON.stringify({ metadata: { resourceVersion: '1', continue: `more-${pages}` }, items }));
    }))],
    'large objects': ['LimitExceeded', /take more than 32 MiB|an answer of more than 8388608 bytes/,
      () => HostileServer.http(certificates, otherwise((_request, response) => {
      let index = 0;
      const go = (): void => {
        while (!response.stream?.destroyed) {
          index += 1;
          const pod = { ...podOf(index), status: { message: 'x'.repeat(MiB) } };
          if (!response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`)) {
            return void response.once('drain', go);
          }
        }
      };
      go();
    }))],
    'headers': ['Unreachable', /./, () => HostileServer.tls(certificates, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      writeForEver(socket, `x-header: ${'x'.repeat(500)}\r\n`);
    })],
    'answers that are still to come': ['Unreachable', /./, () => HostileServer.tls(certificates, (socket) => {
      socket.write(`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10_000)}HTTP/1.1 200 OK\r\n`);
      writeForEver(socket, `x-header: ${'x'.repeat(500)}\r\n`);
    })],
  };
  let server: HostileServer | undefined;
  afterEach(() => server?.stop());
  for (const [what, [reason, says, start]] of Object.entries(attacks)) {
    it(`${what}: is cut at a limit, and says so`, async (t) => {
      pages = 0;
      server = await start();
      let peak = 0;
      const look = () => (peak = Math.max(peak, process.memoryUsage().arrayBuffers));
      const timer = setInterval(look, 5);
      t.after(() => clearInterval(timer));
      const before = process.memoryUsage().arrayBuffers;
      const { availability, target } =
        await follow(t, TENANTS, tenantKubeconfig(`https://127.0.0.1:${server.port}`, certificates));
      look();
      assert.equal(availability.reason, reason);
      assert.match(availability.message, says);
      if (reason === 'LimitExceeded') assert.equal(target.session, undefined, 'nothing of it is followed any longer');
      assert.ok(server.bytesTaken < 128 * MiB, `${server.bytesTaken} bytes were taken`);
      // both ends are in this process, and much of it is garbage that V8 collects when it likes: here 45 to 95 MB
      assert.ok(peak - before < 256 * MiB, `${peak - before} bytes of buffers, of both ends`);
    });
  }
});
