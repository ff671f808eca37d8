// What the tests of editors share: a workspace with a prompt, sessions to refer to, the program.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { session, store, title, user } from './logs.mjs';

export const PROGRAM =
  process.env.SESSIONREF ?? fileURLToPath(new URL('../../.venv/bin/sessionref', import.meta.url));
export const EXAMPLES = fileURLToPath(new URL('../../examples/editors/', import.meta.url));

export const HOSTILE =
  '<img src=x> ![p](http://evil.example) [l](javascript:x) www.evil.example a@evil.example';

/** A workspace with an empty prompt, and a root of three sessions; both go with the test. */
export function makePlace(t) {
  const folder = mkdtempSync(join(tmpdir(), 'sessionref-editor-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  process.env.SESSIONREF_CACHE_DIR = join(folder, 'cache');
  const [root, workspace] = [join(folder, 'root'), join(folder, 'workspace')];
  mkdirSync(workspace);
  store(root, session('login', [user('fix it'), title('Fix login 页面')], { createdAt: 3e12 }));
  store(root, session('other', [user('q'), title('Other')], { createdAt: 2e12 }));
  store(root, session('hostile', [user(HOSTILE), title(HOSTILE)], { createdAt: 1e12 }));
  const prompt = join(workspace, 'prompt.md');
  writeFileSync(prompt, '');
  return { root, workspace, prompt };
}

/** What the program says of a text, asked at a shell. */
export function parseText(text) {
  const asked = ['call', 'parseText', JSON.stringify({ text })];
  const { status, stdout, stderr } = spawnSync(PROGRAM, asked, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Ask again until the answer is as it should be, or throw. */
export async function until(ask, isRight, seconds = 20) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (isRight(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(answer)}`);
    await pause(50);
  }
}
