// `isthmus gateway verify`: tests a clusterset end to end, from one or both sides.
import { Option, type Command } from 'commander';
import { Resolver } from 'node:dns/promises';
import { CLUSTERSET_GATEWAYS, SERVICES } from '../../api/resource-types.ts';
import { SERVICE_EXPORTS, SERVICE_IMPORTS, type ServiceImport } from '../../api/kinds/service-discovery.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { SERVICE_DISCOVERY } from '../../manifests/objects/service-discovery.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { serviceName } from '../../service-discovery/dns/dns-names.ts';
import { AppError } from '../../process/errors.ts';
import { checkFailover, checkServices, VERIFICATIONS, type Verification } from './clusterset-checks.ts';
import type { Check } from './gateway-checks.ts';
import { withCluster, type ClusterFlags } from './gateway-membership.ts';
import { orNotFound } from '../clusters/served-objects.ts';

const ASK_MS = 3_000;

/** Reads `--only`. Throws AppError `BadInput`. */
export function parseVerifications(text: string): readonly Verification[] {
  return text.split(',').map((name) => {
    const known = VERIFICATIONS.find((one) => one === name.trim());
    if (known === undefined) {
      throw new AppError('BadInput', `--only has no "${name}"; choose from ${VERIFICATIONS.join(', ')}.`);
    }
    return known;
  });
}

/** Adds `--only` and `--dns`. */
export function withVerifications(command: Command): Command {
  return command
    .addOption(
      new Option('--only <list>', `comma separated, of ${VERIFICATIONS.join(', ')}`).argParser(parseVerifications)
        .default(['connectivity'], 'connectivity'),
    )
    .addOption(
      new Option(
        '--dns <ip:port>',
        'address of the DNS server of "isthmus service run"; default: its Service, which must be reachable from here',
      ).argParser(parseServer),
    );
}

/** What a resolver takes: it looks up no names. */
function parseServer(text: string): string {
  try {
    new Resolver().setServers([text]);
    return text;
  } catch {
    throw new AppError(
      'BadInput', `--dns must be IP:PORT, [IPv6]:PORT or an IP address, not ${JSON.stringify(text)}.`,
    );
  }
}

/** The selected checks of Services and failover. */
export async function clustersetChecks(
  flags: ClusterFlags & { readonly only: readonly Verification[]; readonly dns?: string },
): Promise<readonly Check[]> {
  return withCluster(flags, async (client, signal) => [
    ...(flags.only.includes('service-discovery') ? await serviceChecks(client, flags, signal) : []),
    ...(
      flags.only.includes('gateway-failover')
        ? checkFailover(
          await client.list(CLUSTERSET_GATEWAYS, { namespace: flags.namespace }, signal), client.transport.clock.now(),
        )
        : []
    ),
  ]);
}

async function serviceChecks(
  client: ClusterClient, { namespace, dns }: { readonly namespace: string; readonly dns?: string }, signal: AbortSignal,
): Promise<readonly Check[]> {
  const [exports, imports] = await Promise.all(
    [client.list(SERVICE_EXPORTS, {}, signal), client.list(SERVICE_IMPORTS, {}, signal)],
  ).catch(orNotFound(
    'This cluster does not serve ServiceExport and ServiceImport: run "isthmus install --service-discovery".',
  ));
  const server = dns ?? (
    await client.get(SERVICES, { namespace, name: SERVICE_DISCOVERY }, signal).catch(unless(isNotFound))
  )?.spec?.clusterIP;
  return checkServices({
    exports, imports,
    answers: new Map(await Promise.all(
      imports.map(async (imported) => [objectKey(imported.metadata), await resolve(server, imported)] as const),
    )),
  });
}

async function resolve(
  server: string | undefined, { metadata: { namespace = '', name = '' } }: ServiceImport,
): Promise<readonly string[] | string> {
  if (server === undefined) return `there is no Service ${SERVICE_DISCOVERY}; name the DNS server with --dns`;
  const resolver = new Resolver({ timeout: ASK_MS, tries: 1 });
  resolver.setServers([server]);
  const asked = serviceName({ namespace, name });
  const answers = await Promise.all([resolver.resolve4(asked), resolver.resolve6(asked)].map((answer) => answer.catch(
    (error: { readonly code?: string }) => error.code === 'ENODATA' ? [] : `${server} says ${error.code ?? 'nothing'}`,
  )));
  return answers.find((answer) => typeof answer === 'string') ?? answers.flat();
}
