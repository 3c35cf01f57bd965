import assert from 'node:assert/strict';
import test from 'node:test';

import * as lamp from '../lamp.mjs';

test('AC-1: faint is dark', () => assert.equal(lamp.shines(0.05), false));
