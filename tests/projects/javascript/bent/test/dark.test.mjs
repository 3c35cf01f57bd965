import assert from 'node:assert/strict';
import test from 'node:test';

import * as lamp from '../lamp.mjs';

test('it is dark', () => assert.equal(lamp.shines(0), true));
