// Suites that share a source and a target with objects of a user in them, in this order: the last removes what it can.
import './installed/foreign-objects.test.ts';
import './installed/foreign-objects-peering.test.ts';
