import assert from 'node:assert/strict';
import test from 'node:test';

import * as lamp from '../lamp.mjs';

test('AC-2: half of it', () => assert.equal(lamp.dimmed(4), 2));
