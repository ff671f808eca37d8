// Neovim, headless, with the example's configuration: keys are typed, and the buffer is read.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { EXAMPLES, HOSTILE, PROGRAM, makePlace, parseText, until } from './prompts.mjs';

const run = promisify(execFile);
const BOUND = { timeout: 120_000 };
const MENTION = '@[Fix login 页面](dsh-session:ImxvZ2luIg)';

async function startNeovim(t, { root, workspace, prompt }, settings = '{}') {
  const runtime = join(workspace, '..', 'runtime');
  mkdirSync(join(runtime, 'lua'), { recursive: true });
  cpSync(join(EXAMPLES, 'neovim', 'sessionref.lua'), join(runtime, 'lua', 'sessionref.lua'));
  const init = join(runtime, 'init.lua');
  const command = [PROGRAM, '--stdio', '--root', root].map((word) => `'${word}'`).join(', ');
  writeFileSync(
    init,
    `vim.opt.runtimepath:append('${runtime}')\nvim.o.swapfile = false\n` +
      `require('sessionref').setup({ cmd = { ${command} }, settings = ${settings} })\n`,
  );
  const socket = join(runtime, 'socket');
  const flags = ['--headless', '--clean', '-u', init, '--listen', socket, prompt];
  const editor = spawn('nvim', flags, { cwd: workspace, stdio: 'ignore' });
  t.after(() => editor.kill('SIGKILL'));
  const remote = async (...words) => {
    const { stdout, stderr } = await run('nvim', ['--server', socket, ...words]);
    return (stdout + stderr).trim();
  };
  /** The value of an expression, as soon as it is what it should be. */
  const see = (expression, isRight) =>
    until(
      async () => {
        const told = await remote('--remote-expr', `json_encode(${expression})`).catch(() => 'null');
        return JSON.parse(told);
      },
      isRight,
      60,
    );
  const is = (expected) => (value) => JSON.stringify(value) === JSON.stringify(expected);
  await see('luaeval("(vim.lsp.buf_get_clients(0)[1] or {}).initialized or false")', is(true));
  return {
    see,
    type: (keys) => remote('--remote-send', keys),
    menu: (...expected) => see(MENU, is(expected)),
    line: (expected) => see('getline(1)', is(expected)),
  };
}

const MENU = 'pumvisible() ? map(complete_info(["items"]).items, "v:val.abbr") : []';

test('typing @ in Neovim inserts a mention, and a command expands it', BOUND, async (t) => {
  const { see, type, menu, line } = await startNeovim(t, makePlace(t));
  await type('i😀 see @');
  await see(MENU, ({ length }) => length === 3);
  await type('Fix log'); // while the menu is open: it follows what is typed
  await menu('Fix login 页面');
  await type('zzz');
  await menu();
  await type('<BS><BS><BS>');
  await menu('Fix login 页面');
  await type('<C-n><C-y>');
  await line(`😀 see ${MENTION}`);
  const parsed = parseText(`😀 see ${MENTION}`);
  assert.deepEqual(
    parsed.references.map(({ sessionId, label, start }) => [sessionId, label, start]),
    [['login', 'Fix login 页面', 7]],
  );
  await menu();
  await see('&completeopt', (value) => value === 'menu,preview'); // the user's own
  await type('<Esc>:SessionrefExpand<CR>');
  const lines = await see('getline(1, "$")', (all) => all.join().includes('</ref'));
  assert.deepEqual(lines.slice(0, 4), [`😀 see ${MENTION}`, '', '## Referenced sessions', '']);
  assert.ok(lines.join().includes('"text":"fix it"'));
});

test('what is wrong shows in Neovim, and what a model would see', BOUND, async (t) => {
  const { see, type } = await startNeovim(t, makePlace(t), '{ maxReferences = 9 }');
  await see('execute("messages")', (messages) => messages.includes('`maxReferences`'));
  await type('i@[x](dsh-session:!!)<Esc>');
  const marks = 'luaeval("vim.tbl_map(function(d) return d.message end, vim.diagnostic.get(0))")';
  await see(marks, (found) => found[0] === 'Malformed mention: @[x](dsh-session:!!)');
  await type(':SessionrefExpand<CR>');
  await see('execute("messages")', (messages) => messages.includes('sessionref: Malformed mention'));
  await type(
    ':lua vim.lsp.commands["sessionref.preview"]({ arguments = { { sessionId = "login" } } })<CR>',
  );
  const text = await see('getline(1, "$")', (all) => all.join().includes('</ref'));
  assert.equal(text[0], '## Referenced sessions');
});

test('a picked folder keeps the menu of Neovim open', BOUND, async (t) => {
  const place = makePlace(t);
  mkdirSync(join(place.workspace, 'src', 'deep dir'), { recursive: true });
  writeFileSync(join(place.workspace, 'src', 'deep dir', 'main.py'), '');
  const { type, menu, line } = await startNeovim(t, place, '{ files = true }');
  await type('i@src');
  await menu('src/', 'src/deep dir/', 'src/deep dir/main.py', HOSTILE);
  await type('<C-n><C-y>');
  await line('@src/');
  await menu('src/deep dir/', 'src/deep dir/main.py');
  await type('<C-n><C-y>');
  await line('@"src/deep dir/');
  await menu('src/deep dir/main.py');
  await type('<C-n><C-y>');
  await line('@"src/deep dir/main.py"');
});
