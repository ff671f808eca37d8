// The types are those of the schemas, and a schema that changes is noticed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { makeFolder } from './support.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

function check(schemas: string) {
  const args = [here('../../scripts/generate.mjs'), '--check', '--schemas', schemas];
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

test('a schema that changes is noticed', (t) => {
  const schemas = join(makeFolder(t), 'schemas');
  cpSync(here('../../../../../schemas'), schemas, { recursive: true });
  assert.deepEqual([check(schemas).status, check(schemas).stderr], [0, '']);
  const agent = join(schemas, 'Agent.json');
  const original = readFileSync(agent, 'utf8');
  writeFileSync(agent, original.replace('"cwd": {', '"folder": {'));
  const { status, stderr } = check(schemas);
  assert.equal(status, 1);
  assert.match(stderr, /run `npm run generate`/);
});
