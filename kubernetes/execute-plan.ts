// The one place where commands become calls.
import { PODS } from '../api/resource-types.ts';
import type { Command, Plan } from '../model/plan.ts';
import { isNotFound } from './api-error.ts';
import type { ClusterClient } from './cluster-client.ts';

/**
 * Executes a plan in order. A delete of what is already gone counts as done.
 * @throws what the failing call threw; commands after it were not tried.
 */
export async function executePlan(client: ClusterClient, plan: Plan, signal: AbortSignal): Promise<void> {
  for (const command of plan) await execute(client, command, signal);
}

async function execute(client: ClusterClient, command: Command, signal: AbortSignal): Promise<void> {
  switch (command.kind) {
    case 'create':
      await client.create(command.type, command.object, signal);
      return;
    case 'bind':
      await client.post(PODS, { ...command.binding.metadata, name: command.binding.metadata.name ?? '', subresource: 'binding' }, command.binding, signal);
      return;
    case 'apply':
      await client.apply(command.type, command.object, command.fieldManager, signal);
      return;
    case 'patch':
      await client.patch(command.type, command.at, command, signal);
      return;
    case 'delete':
      await client.delete(command.type, command.at, command, signal).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }
}
