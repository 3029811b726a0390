// All readers of foreign bytes that are fuzzed.
import { KUBERNETES_TARGETS } from './kubernetes-targets.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { NETWORK_TARGETS } from './network-targets.ts';
import { OBJECT_TARGETS } from './object-targets.ts';
import { WRITTEN_POLICIES } from './policy-target.ts';

/** In the order in which they are run and shown. */
export const FUZZ_TARGETS: readonly FuzzTarget[] =
  [...OBJECT_TARGETS, WRITTEN_POLICIES, ...KUBERNETES_TARGETS, ...NETWORK_TARGETS];
