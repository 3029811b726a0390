// The selector of a followed Service: in every cluster it selects the delegates, whose labels have our prefix, and no
// proxies. The user's selector is stored in an annotation and is restored from there, also after the user applies it
// again.
import type { Service, StringMap } from '../../api/objects/core.ts';
import { ORIGINAL_SELECTOR_ANNOTATION } from '../../api/objects/keys.ts';
import { prefixLabels, toDelegateLabels } from '../../model/delegate/pod-chaperon.ts';

/** The user's selector. */
export function originalSelector({ metadata, spec }: Service): StringMap {
  const current = spec?.selector ?? {};
  const saved = parseSelector(metadata.annotations?.[ORIGINAL_SELECTOR_ANNOTATION]);
  if (saved === undefined) return current;
  const rewritten = toDelegateLabels(saved, metadata.annotations ?? {});
  const prefixed = prefixLabels(saved); // as rewritten by versions that prefixed every key
  if (isSame(current, rewritten) || isSame(current, prefixed)) return saved;
  // After another `kubectl apply` both the user's terms and those of Isthmus are set; remove ours.
  return Object.fromEntries(Object.entries(current).filter(
    ([key]) => Object.hasOwn(saved, key) || !(Object.hasOwn(rewritten, key) || Object.hasOwn(prefixed, key)),
  ));
}

/** The selector that finds delegates. */
export function rewrittenSelector(service: Service): StringMap {
  return toDelegateLabels(originalSelector(service), service.metadata.annotations ?? {});
}

/**
 * Text form of a selector for {@link ORIGINAL_SELECTOR_ANNOTATION}: `key=value,...` sorted by key, as Admiralty writes
 * it.
 */
export function formatSelector(selector: StringMap): string {
  const terms = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
  return terms.toSorted().join(',');
}

function parseSelector(text: string | undefined): StringMap | undefined {
  if (text === undefined) return undefined;
  const terms = text.split(',').filter((term) => term !== '');
  return Object.fromEntries(
    terms.map((term) => [term.slice(0, Math.max(0, term.indexOf('='))), term.slice(term.indexOf('=') + 1)]),
  );
}

/** Whether both have the same terms. */
export function isSame(left: StringMap, right: StringMap): boolean {
  return formatSelector(left) === formatSelector(right);
}
