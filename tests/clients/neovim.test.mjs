// Neovim, headless, with the example's configuration: keys are typed, and the buffer is read.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { EXAMPLES, PROGRAM, makePlace, parseText, until } from './prompts.mjs';

const run = promisify(execFile);

async function startNeovim(t, { root, workspace, prompt }) {
  const runtime = join(workspace, '..', 'runtime');
  mkdirSync(join(runtime, 'lua'), { recursive: true });
  cpSync(join(EXAMPLES, 'neovim', 'sessionref.lua'), join(runtime, 'lua', 'sessionref.lua'));
  const init = join(runtime, 'init.lua');
  const command = [PROGRAM, '--stdio', '--root', root].map((word) => `'${word}'`).join(', ');
  writeFileSync(
    init,
    `vim.opt.runtimepath:append('${runtime}')\nvim.o.swapfile = false\n` +
      `require('sessionref').setup({ cmd = { ${command} } })\n`,
  );
  const socket = join(runtime, 'socket');
  const flags = ['--headless', '--clean', '-u', init, '--listen', socket, prompt];
  const editor = spawn('nvim', flags, { cwd: workspace, stdio: 'ignore' });
  t.after(() => editor.kill('SIGKILL'));
  const remote = async (...words) => {
    const { stdout, stderr } = await run('nvim', ['--server', socket, ...words]);
    return (stdout + stderr).trim();
  };
  const ask = (expression) => remote('--remote-expr', expression).catch(() => undefined);
  const ready = 'luaeval("(vim.lsp.buf_get_clients(0)[1] or {}).initialized or false")';
  await until(() => ask(ready), (answer) => /true/.test(answer));
  return { ask, type: (keys) => remote('--remote-send', keys) };
}

test('typing @ in Neovim inserts a mention, and a command expands it', { timeout: 60_000 }, async (t) => {
  const { ask, type } = await startNeovim(t, makePlace(t));
  await type('i😀 see @Fix log');
  await until(() => ask('pumvisible()'), (visible) => visible === '1');
  await type('<C-n><C-y>');
  const line = await until(() => ask('getline(1)'), (text) => text.includes('dsh-session:'));
  assert.deepEqual(
    parseText(line).references.map(({ sessionId, label, start }) => [sessionId, label, start]),
    [['login', 'Fix login 页面', 7]],
  );
  assert.equal(parseText(line).text, '😀 see @Fix login 页面');
  await type('<Esc>:SessionrefExpand<CR>');
  const buffer = 'json_encode(getline(1, "$"))';
  const lines = JSON.parse(await until(() => ask(buffer), (all) => all.includes('</ref')));
  assert.deepEqual(lines.slice(0, 4), [line, '', '## Referenced sessions', '']);
  assert.ok(lines.join().includes('"text":"fix it"'));
});
