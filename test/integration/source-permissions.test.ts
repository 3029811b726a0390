// Suites that share a target with sources of both kinds, in this order: the last one takes a source away, and has pods
// made for the others.
import './installed/source-confinement.test.ts';
import './installed/source-borders.test.ts';
