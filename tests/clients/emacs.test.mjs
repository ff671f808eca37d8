// Emacs with Eglot, in batch mode, with the example's configuration, in a Markdown buffer.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { EXAMPLES, PROGRAM, makePlace, parseText } from './prompts.mjs';

const run = promisify(execFile);

const SCRIPT = `
(progn
  (package-initialize)
  (load (getenv "SESSIONREF_EL"))
  (setq sessionref-command (list (getenv "PROGRAM") "--stdio" "--root" (getenv "ROOT")))
  (setq eglot-sync-connect 30)
  (find-file (getenv "PROMPT"))
  (markdown-mode)
  (add-hook 'eglot-managed-mode-hook #'sessionref--managed)
  (apply #'eglot (eglot--guess-contact))
  (insert "😀 see @Fix log")
  (completion-at-point)
  (save-buffer)
  (write-region (buffer-string) nil (concat (getenv "PROMPT") ".picked"))
  (sessionref-expand)
  (save-buffer))
`;

test('@ in Emacs inserts a mention, and a command expands it', { timeout: 120_000 }, async (t) => {
  const { root, workspace, prompt } = makePlace(t);
  const env = {
    ...process.env,
    LC_ALL: 'C.UTF-8',
    PROGRAM,
    ROOT: root,
    PROMPT: prompt,
    SESSIONREF_EL: join(EXAMPLES, 'emacs', 'sessionref.el'),
  };
  await run('emacs', ['-q', '--batch', '--eval', SCRIPT], {
    cwd: workspace,
    env,
    timeout: 60_000,
  });
  const line = readFileSync(`${prompt}.picked`, 'utf8').trim();
  assert.deepEqual(
    parseText(line).references.map(({ sessionId, label, start }) => [sessionId, label, start]),
    [['login', 'Fix login 页面', 7]],
  );
  const text = readFileSync(prompt, 'utf8');
  assert.ok(text.startsWith(`${line}\n\n## Referenced sessions\n`));
  assert.ok(text.includes('"text":"fix it"'));
});
