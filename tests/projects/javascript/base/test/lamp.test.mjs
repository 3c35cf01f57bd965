import assert from 'node:assert/strict';
import test from 'node:test';

import * as lamp from '../lamp.mjs';

test('it shines', () => assert.equal(lamp.shines(1), true));
