import assert from 'node:assert/strict';
import test from 'node:test';

import * as lamp from '../lamp.mjs';

test('faint is dark', () => assert.equal(lamp.shines(0.05), false));
test('it is dimmed', () => assert.equal(lamp.dimmed(4), 2));
