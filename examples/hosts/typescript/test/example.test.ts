// The example program, run as its README says.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { changedEnvironment } from '../src/child.js';
import { BOUND, CLEAN, PROGRAM, makeRoot } from './support.js';

const run = promisify(execFile);
const EXAMPLE = fileURLToPath(new URL('../example/chat.js', import.meta.url));

const env = changedEnvironment(process.env, { ...CLEAN, SESSIONREF_NO_INDEX: '1' });

test('the example shows what was written, and what was recalled beside it', BOUND, async (t) => {
  const prompts = ['Do the same as in @login', 'and ask me@home about @notes and @nobody'];
  const args = [EXAMPLE, '--command', PROGRAM, '--root', makeRoot(t), ...prompts];
  const { stdout, stderr } = await run(process.execPath, args, { env });
  assert.equal(stderr, '');
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    '# Do the same as in @Fix login 页面',
    'you     Do the same as in @Fix login 页面',
    'recall  Fix login 页面 — 2 messages',
    'you     and ask me@home about @Notes and @nobody',
    'recall  Notes — 1 message',
  ]);
});

test('the example says what is wrong', BOUND, async () => {
  const wrong = run(process.execPath, [EXAMPLE, '--command', 'no-such-sidecar', 'hello'], { env });
  await assert.rejects(wrong, (error: Error & { code: number; stderr: string }) => {
    assert.equal(error.code, 1);
    const expected = "chat: no-such-sidecar can't be started: there is no such program\n";
    assert.equal(error.stderr, expected);
    return true;
  });
});
