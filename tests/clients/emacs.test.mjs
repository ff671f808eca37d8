// Emacs with Eglot, in batch mode, with the example's configuration, in a Markdown buffer.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { EXAMPLES, PROGRAM, makePlace, parseText } from './prompts.mjs';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('emacs.el', import.meta.url));
const MENTION = '@[Fix login 页面](dsh-session:ImxvZ2luIg)';

test('@ in Emacs inserts a mention, and commands do the rest', { timeout: 180_000 }, async (t) => {
  const { root, workspace, prompt } = makePlace(t);
  mkdirSync(join(workspace, 'src', 'deep'), { recursive: true });
  writeFileSync(join(workspace, 'src', 'deep', 'main.py'), '');
  const told = join(workspace, '..', 'told.json');
  const env = {
    ...process.env,
    LC_ALL: 'C.UTF-8',
    PROGRAM,
    ROOT: root,
    PROMPT: prompt,
    TOLD: told,
    SESSIONREF_EL: join(EXAMPLES, 'emacs', 'sessionref.el'),
  };
  await run('emacs', ['-q', '--batch', '-l', SCRIPT], { cwd: workspace, env, timeout: 120_000 });
  const answers = JSON.parse(readFileSync(told, 'utf8'));

  assert.equal(answers.sole, `😀 see ${MENTION}`);
  assert.deepEqual(
    parseText(answers.sole).references.map(({ sessionId, label, start }) => [sessionId, label, start]),
    [['login', 'Fix login 页面', 7]],
  );
  assert.deepEqual(answers.several.slice(-3, -1), ['Fix login 页面', 'Other']);
  assert.match(answers.picked, /^@\[Other\]\(dsh-session:/);
  assert.equal(answers.nothing, '@nothing like it');
  assert.equal(answers.folder, '@src/deep/');
  assert.equal(answers.below, '@src/deep/main.py');
  assert.match(answers.copied, /^@\[/);
  assert.match(answers.preview, /^## Referenced sessions\n[^]*"text":"fix it"/);
  assert.equal(answers.refused, 'sessionref: Malformed mention: @[x](dsh-session:!!).');
  assert.match(answers.expanded, /main\.py\n\n## Referenced sessions\n[^]*"text":"fix it"/);
});
