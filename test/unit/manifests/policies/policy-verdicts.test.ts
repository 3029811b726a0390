// What the admission policies say of what peering, discovery and users could try, request by request. That an API
// server reads the same from them is held by integration tests.
import { describe } from 'node:test';
import {
  ADMISSION_RECORD_ANNOTATION, DELEGATE_FINALIZER, DISCOVERED_BY_LABEL, ELECT_ANNOTATION, PROXY_SCHEDULER,
} from '../../../../api/objects/keys.ts';
import { discoveryPolicy } from '../../../../manifests/policies/discovery-policy.ts';
import { peeringPolicies } from '../../../../manifests/policies/peering-policy.ts';
import { proxyPolicyManifests } from '../../../../manifests/policies/proxy-policy.ts';
import type { AskedPermission } from '../../../support/objects/cel.ts';
import { create, judged, remove, update } from './judged-requests.ts';

describe('what peering writes: the policies', () => {
  const MARK = { 'app.kubernetes.io/component': 'source-identity' };
  const by = { user: 'system:serviceaccount:ns:isthmus-peering', can: () => false };
  const named = (name: string, more: object = {}, labels: object = MARK) => ({ metadata: { name, labels }, ...more });
  const account = (name: string, namespace = 'shop') =>
    create('serviceaccounts', named(name), { ...by, namespace });
  const subject = (namespace: string, name: string) => ({ kind: 'ServiceAccount', namespace, name });
  const bound = (roleRef: string, ...subjects: readonly object[]) =>
    named('admiralty-berlin', { roleRef: { name: roleRef }, subjects });
  const binding = (roleRef: string, ...subjects: readonly object[]) =>
    create('rolebindings', bound(roleRef, ...subjects), by);
  const ofBefore = (name: string) => bound('cluster-admin', subject('ns', name));
  const rules = (...all: readonly object[]) => create('roles', named('admiralty-x', { rules: all }), by);
  const tokens = (...resourceNames: readonly string[]) => ({ resources: ['serviceaccounts/token'], resourceNames });
  /** Somebody's account may read Secrets. */
  const isPowerful = ({ account: of, resource }: AskedPermission) => of === 'shop/admin' && resource === 'secrets';
  judged(peeringPolicies('ns'), {
    'an account of a source': [account('berlin'), undefined],
    'an account without its mark': [create('serviceaccounts', named('berlin', {}, {}), by), /only objects with label/],
    'to mark an account of others': [
      update('serviceaccounts', named('berlin', {}, {}), named('berlin'), by), /only objects with label/,
    ],
    'the deletion of an account of others':
      [remove('serviceaccounts', named('x', {}, {}), by), /only objects with label/],
    'the deletion of its own': [remove('serviceaccounts', named('berlin'), by), undefined],
    'an account in a namespace of the cluster': [account('berlin', 'kube-system'), /nothing into kube-\*/],
    'an account beside the keys': [account('berlin', 'ns-keys'), /nothing into kube-\*/],
    'an account of a component': [account('isthmus-scheduler', 'ns'), /no account of a component/],
    'the account of all components': [account('isthmus', 'ns'), /no account of a component/],
    'an account of that name elsewhere': [account('isthmus-scheduler', 'shop'), undefined],
    'the account of a source whose target is called isthmus': [account('isthmus-0123abcd', 'ns'), undefined],
    'a role of another name': [create('roles', named('cluster-admin', { rules: [] }), by), /whose names begin with/],

    'a binding of the role of sources': [binding('isthmus-source', subject('shop', 'berlin')), undefined],
    'a binding of all permissions':
      [binding('cluster-admin', subject('shop', 'berlin')), /bind only the roles of sources/],
    'a binding of its own role': [binding('admiralty-berlin', subject('shop', 'berlin')), undefined],
    'a binding to a user': [binding('isthmus-source', { kind: 'User', name: 'jane' }), undefined],
    'a binding to a user of the system':
      [binding('isthmus-source', { kind: 'User', name: 'system:admin' }), /only to users, and to ServiceAccounts/],
    'a binding to a group': [binding('isthmus-source', { kind: 'Group', name: 'jane' }), /only to users/],
    'a binding to an account of the cluster': [binding('isthmus-source', subject('kube-system', 'x')), /only to users/],
    'a binding to a component': [binding('isthmus-source', subject('ns', 'isthmus-webhook')), /only to users/],
    'a binding to one that may and one that may not': [
      binding('isthmus-source', subject('shop', 'berlin'), subject('ns', 'isthmus')), /only to users/,
    ],
    'a binding to nobody, which an update would fill':
      [create('rolebindings', named('admiralty-x', { roleRef: { name: 'isthmus-source' } }), by), /only to users/],
    'the permission to ask for tokens to itself': [
      binding('isthmus-token-requester', subject('ns', 'isthmus-peering')), undefined,
    ],
    'the permission to ask for tokens to others':
      [binding('isthmus-token-requester', subject('shop', 'berlin')), /only to itself/],
    'the permission to ask for tokens everywhere': [
      create('clusterrolebindings', bound('isthmus-token-requester', subject('ns', 'isthmus-peering')), by),
      /bind only the roles of sources/,
    ],
    'a binding to an account that may do more': [
      create('rolebindings', bound('isthmus-source', subject('shop', 'admin')), { ...by, can: isPowerful }),
      /may do more than a source/,
    ],
    'to leave a binding of before as it is': [update('rolebindings', ofBefore('x'), ofBefore('x'), by), undefined],
    'to change whom that is for':
      [update('rolebindings', ofBefore('x'), ofBefore('y'), by), /bind only the roles of sources/],

    'a role of named pods': [rules({ resources: ['pods/log'], resourceNames: ['web'] }), undefined],
    'a role of all pods': [rules({ resources: ['pods/exec'] }), /only for named objects/],
    'a role of no name, which means all':
      [rules({ resources: ['pods/exec'], resourceNames: [] }), /only for named objects/],
    'a role of Secrets': [rules({ resources: ['secrets'], resourceNames: ['x'] }), /only for named objects/],
    'a role of everything': [rules({ resources: ['*'], resourceNames: ['x'] }), /only for named objects/],
    'a role of the mark, which names nothing': [rules({ resources: ['sourceidentities'] }), undefined],
    'a role with the mark and more': [rules({ resources: ['sourceidentities', 'pods/log'] }), /only for named objects/],
    'a role of addresses': [rules({ nonResourceURLs: ['/metrics'] }), /only for named objects/],
    'a role that gathers the rules of others': [
      create('clusterroles', named('admiralty-x', { rules: [], aggregationRule: {} }), by), /only for named objects/,
    ],
    'the permission for tokens of an account': [rules(tokens('berlin')), undefined],
    'the permission for tokens in all namespaces':
      [create('clusterroles', named('admiralty-x', { rules: [tokens('berlin')] }), by), /only within a namespace/],
    'the permission for tokens of a component': [
      create('roles', named('admiralty-x', { rules: [tokens('isthmus-peering')] }), { ...by, namespace: 'ns' }),
      /tokens of a component/,
    ],
    'the permission for tokens of one who may do more': [
      create('roles', named('admiralty-x', { rules: [tokens('admin')] }), { ...by, can: isPowerful }), /may do more/,
    ],

    'a token of a source': [create('serviceaccounts/token', {}, { ...by, name: 'berlin' }), undefined],
    'a token of a component': [
      create('serviceaccounts/token', {}, { ...by, namespace: 'ns', name: 'isthmus-webhook' }),
      /no tokens of components/,
    ],
    'a token of the cluster': [
      create('serviceaccounts/token', {}, { ...by, namespace: 'kube-system', name: 'x' }), /no tokens of components/,
    ],
    'a token of one who may do more':
      [create('serviceaccounts/token', {}, { ...by, name: 'admin', can: isPowerful }), /may do more than a source/],
    'what administrators write': [{ ...binding('cluster-admin', subject('shop', 'x')), user: 'jane' }, undefined],
  });
});

describe('what discovery writes: the policies', () => {
  const user = 'system:serviceaccount:ns:isthmus-discovery';
  const LABEL = { [DISCOVERED_BY_LABEL]: 'argo' };
  const target = (kubeconfigSecret: object | undefined, labels: object = LABEL, more = {}) =>
    ({ metadata: { name: 'eu', labels }, spec: { ...(kubeconfigSecret && { kubeconfigSecret }), ...more } });
  const CHECKED = { namespace: 'ns-targets', name: 'eu' };
  const made = (object: object) => create('clustertargets', object, { user });
  const OWN_SECRETS = /use Secrets of namespace ns-targets/;
  judged(discoveryPolicy('ns'), {
    'a target with a kubeconfig that it has checked': [made(target(CHECKED)), undefined],
    'a target without its label': [made(target(CHECKED, {})), /only ClusterTargets with label/],
    'to label a target of others': [
      update('clustertargets', target(CHECKED, {}), target(CHECKED), { user }), /only ClusterTargets with label/,
    ],
    'the deletion of a target of others':
      [remove('clustertargets', target(CHECKED, {}), { user }), /only ClusterTargets with label/],
    'the deletion of its own': [remove('clustertargets', target({ name: 'x' }), { user }), undefined],
    'a kubeconfig of another namespace': [made(target({ namespace: 'shop', name: 'eu' })), OWN_SECRETS],
    'a kubeconfig of the namespace where Isthmus is': [made(target({ name: 'eu' })), OWN_SECRETS],
    'a target without a kubeconfig': [made(target(undefined)), OWN_SECRETS],
    'the source itself': [made(target(CHECKED, undefined, { self: true })), OWN_SECRETS],
    'a target that says that it is not the source': [made(target(CHECKED, undefined, { self: false })), undefined],
    'targets of administrators': [{ ...made(target(undefined, {})), user: 'jane' }, undefined],
  });
});

describe('pods that say they are proxies: the policies', () => {
  const RECORD = { [ELECT_ANNOTATION]: '', [ADMISSION_RECORD_ANNOTATION]: '{}' };
  const pod = (annotations: object | undefined, finalizers?: readonly string[], spec: object = {}) => ({
    metadata: { name: 'web', ...(annotations && { annotations }), ...(finalizers && { finalizers }) },
    spec: { schedulerName: PROXY_SCHEDULER, ...spec },
  });
  const HELD = [DELEGATE_FINALIZER];
  /** Namespaces that have opted in: the other policy is bound to the rest. */
  const policies = proxyPolicyManifests('ns').filter(({ metadata }) => metadata.name === 'isthmus-proxy-pods');
  const IS_SET = /is set by Isthmus/;
  judged(policies, {
    'one as admission makes it': [create('pods', pod(RECORD, HELD)), undefined],
    'one without a record': [create('pods', pod({ [ELECT_ANNOTATION]: '' }, HELD)), IS_SET],
    'one that is not elected': [create('pods', pod({ ...RECORD, [ELECT_ANNOTATION]: 'false' }, HELD)), IS_SET],
    'one that nothing holds': [create('pods', pod(RECORD)), IS_SET],
    'one that others hold': [create('pods', pod(RECORD, ['example.com/hold'])), IS_SET],
    'one without annotations': [create('pods', pod(undefined, HELD)), IS_SET],
    'one that has its node already': [create('pods', pod(RECORD, HELD, { nodeName: 'n' })), IS_SET],
    'one beside Isthmus': [create('pods', pod(RECORD, HELD), { namespace: 'ns' }), /of namespaces that opted in/],
    'a pod of another scheduler': [create('pods', pod(undefined, [], { schedulerName: 'mine' })), undefined],
    'a pod that names no scheduler': [create('pods', { metadata: { name: 'web' }, spec: {} }), undefined],
    'to take the election back': [
      update('pods', pod(RECORD, HELD), pod({ [ADMISSION_RECORD_ANNOTATION]: '{}' }, HELD)), /cannot be changed after/,
    ],
    'to change what admission recorded': [
      update('pods', pod(RECORD, HELD), pod({ ...RECORD, [ADMISSION_RECORD_ANNOTATION]: '{"spec":{}}' }, HELD)),
      /is written at admission/,
    ],
    'to take the record off': [
      update('pods', pod(RECORD, HELD), pod({ [ELECT_ANNOTATION]: '' }, HELD)), /is written at admission/,
    ],
    'to let it go at its end': [update('pods', pod(RECORD, HELD), pod(RECORD)), undefined],
    'to add an annotation': [update('pods', pod(RECORD, HELD), pod({ ...RECORD, a: 'b' }, HELD)), undefined],
    'an ephemeral container': [
      update('pods/ephemeralcontainers', pod(RECORD, HELD), pod(RECORD, HELD)), /debug its delegate there/,
    ],
  });
});
