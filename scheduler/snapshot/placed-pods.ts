// Where the source's pods are or are about to be: proxy pods bound to virtual nodes, and candidates. Affinity, topology
// spread and replica shares count by it. Pods with equal labels and controller are counted together, so that a count
// costs one step per class of pods, not per pod.
import type { StringMap } from '../../api/objects/core.ts';
import type { PodAffinityTerm } from '../../api/objects/affinity.ts';
import { canonicalJson } from '../../model/objects/canonical-json.ts';

/** A pod as it is counted. */
export interface PlacedPod {
  readonly uid: string;
  readonly namespace: string;
  readonly labels: StringMap;
  readonly controllerUid?: string;
  readonly antiAffinity?: readonly PodAffinityTerm[];
  readonly terminating: boolean;
}

/** Pods that are counted together. */
export interface PodClass {
  readonly namespace: string;
  readonly labels: StringMap;
  readonly controllerUid?: string;
  readonly antiAffinity?: readonly PodAffinityTerm[];
  readonly terminating: boolean;
  /** Number of them on each virtual node; never 0. */
  readonly byNode: ReadonlyMap<string, number>;
}

interface CountedClass {
  readonly key: string;
  readonly pods: PodClass & { readonly byNode: Map<string, number> };
}

/** Counts of pods by class and virtual node. */
export class PlacedPods {
  readonly #classes = new Map<string, CountedClass>();
  /** Number of classes with anti-affinity. */
  #antiAffine = 0;
  #changes = 0;
  readonly #nodeByUid = new Map<string, { readonly counted: CountedClass; readonly nodeName: string }>();

  /** Records where a pod is; a pod that was elsewhere or had other labels is moved. */
  place(pod: PlacedPod, nodeName: string): void {
    const classKey = classKeyOf(pod);
    const before = this.#nodeByUid.get(pod.uid);
    if (before?.counted.key === classKey && before.nodeName === nodeName) return;
    this.remove(pod.uid);
    const counted = this.#classOf(classKey, pod);
    const { byNode } = counted.pods;
    byNode.set(nodeName, (byNode.get(nodeName) ?? 0) + 1);
    this.#nodeByUid.set(pod.uid, { counted, nodeName });
    this.#changes += 1;
  }

  /** Removes a pod. */
  remove(uid: string): void {
    const placed = this.#nodeByUid.get(uid);
    if (placed === undefined) return;
    const { key, pods: { byNode, antiAffinity } } = placed.counted;
    this.#nodeByUid.delete(uid);
    this.#changes += 1;
    const left = (byNode.get(placed.nodeName) ?? 1) - 1;
    if (left > 0) byNode.set(placed.nodeName, left);
    else byNode.delete(placed.nodeName);
    if (byNode.size > 0) return;
    this.#classes.delete(key);
    if (antiAffinity !== undefined) this.#antiAffine -= 1;
  }

  /** Number of changes so far. */
  get changes(): number {
    return this.#changes;
  }

  /** Whether some pod has anti-affinity: then every pod is checked against those pods. */
  get hasAntiAffinity(): boolean {
    return this.#antiAffine > 0;
  }

  /** All classes with at least one pod. */
  *classes(): Generator<PodClass> {
    for (const { pods } of this.#classes.values()) yield pods;
  }

  /** Virtual node that the pod is, or is about to be, on. */
  nodeOf(uid: string): string | undefined {
    return this.#nodeByUid.get(uid)?.nodeName;
  }

  /** Number of counted pods. */
  get size(): number {
    return this.#nodeByUid.size;
  }

  #classOf(key: string, { namespace, labels, controllerUid, antiAffinity, terminating }: PlacedPod): CountedClass {
    let counted = this.#classes.get(key);
    if (counted === undefined) {
      const optional =
        { ...(controllerUid !== undefined && { controllerUid }), ...(antiAffinity !== undefined && { antiAffinity }) };
      counted = { key, pods: { namespace, labels, terminating, ...optional, byNode: new Map() } };
      this.#classes.set(key, counted);
      if (antiAffinity !== undefined) this.#antiAffine += 1;
    }
    return counted;
  }
}

function classKeyOf({ namespace, labels, controllerUid = '', antiAffinity, terminating }: PlacedPod): string {
  const terms = antiAffinity === undefined ? '' : JSON.stringify(antiAffinity);
  // the UID comes last: users can write any text in owner references, and no other part can be forged
  return `${namespace} ${terminating} ${textOfLabels(labels)} ${terms} ${controllerUid}`;
}

/** Records of pods with equal labels mostly have one object of them. */
const labelTexts = new WeakMap<StringMap, string>();

function textOfLabels(labels: StringMap): string {
  let text = labelTexts.get(labels);
  if (text === undefined) labelTexts.set(labels, (text = canonicalJson(labels)));
  return text;
}
