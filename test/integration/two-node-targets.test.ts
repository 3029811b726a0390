// Suites that share a world whose targets have two nodes each, in this order: commands and pages of the first ones show
// all that there is in the clusters, the last leaves pods behind.
import './shared/placement-policies.test.ts';
import './shared/dashboard.test.ts';
import './shared/proxy-attacks.test.ts';
