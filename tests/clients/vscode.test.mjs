// The extension for VS Code: its own code and Microsoft's client, on an editor without a screen.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { CWD } from './logs.mjs';
import { EXAMPLES, PROGRAM, makePlace, until } from './prompts.mjs';
import { makeVSCode } from './vscode.mjs';

const FOLDER = join(EXAMPLES, 'vscode');
const MANIFEST = JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8'));
const BOUND = { timeout: 60_000 };
const NEVER = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
const MENTION = '@[Fix login 页面](dsh-session:ImxvZ2luIg)';

/** The extension, activated, with the manifest's defaults but for the command. */
async function activate(t, settings = {}) {
  const { root } = makePlace(t);
  const { properties } = MANIFEST.contributes.configuration;
  const defaults = Object.entries(properties).map(([name, each]) => [name, each.default]);
  const command = [PROGRAM, ...properties['sessionref.command'].default.slice(1), '--root', root];
  const editor = makeVSCode(
    { ...Object.fromEntries(defaults), 'sessionref.command': command, ...settings },
    pathToFileURL(CWD).href,
  );
  const extension = editor.load(join(FOLDER, MANIFEST.main));
  const context = { subscriptions: [] };
  await extension.activate(context);
  t.after(() => extension.deactivate());
  return { ...editor, context, extension };
}

const end = (document) => document.positionAt(document.text.length);

async function type(editor, document, keys) {
  const { provider } = editor.registered.registerCompletionItemProvider;
  let list;
  for (const key of keys) {
    await editor.replace(document, { start: end(document), end: end(document) }, key);
    const context = { triggerKind: 2 };
    list = await provider.provideCompletionItems(document, end(document), NEVER, context);
  }
  return list.items;
}

test('the extension completes, shows, marks, expands and copies', BOUND, async (t) => {
  const editor = await activate(t);
  const { registered, shown, vscode } = editor;
  const { selector, rest, provider } = registered.registerCompletionItemProvider;
  assert.deepEqual(selector.map(({ language }) => language), ['markdown', 'plaintext', 'scminput']);
  assert.deepEqual(rest, ['@']);

  const document = await editor.open('untitled:Untitled-1', 'markdown');
  const [item] = await type(editor, document, '😀 see @fix log');
  assert.equal(item.label.label ?? item.label, 'Fix login 页面');
  assert.ok(item.filterText.startsWith('@fix log'));
  const { documentation } = await provider.resolveCompletionItem(item, NEVER);
  assert.match(documentation.value, /^\*\*Fix login 页面\*\*\n/);
  await editor.replace(document, item.range.replacing ?? item.range, item.insertText);
  assert.equal(document.text, `😀 see ${MENTION}`);

  const hover = await registered.registerHoverProvider.provider.provideHover(
    document, new vscode.Position(0, 9), NEVER,
  );
  assert.match(hover.contents[0].value, /\*\*User:\*\* fix it/);

  await type(editor, document, ' @[x](dsh-session:!!)');
  const marks = () => shown.diagnostics.get('untitled:Untitled-1') ?? [];
  await until(async () => marks().length, (number) => number === 1);
  const actions = await registered.registerCodeActionsProvider.provider.provideCodeActions(
    document, marks()[0].range, { diagnostics: marks(), triggerKind: 1 }, NEVER,
  );
  const titles = actions.map(({ title }) => title);
  assert.equal(titles[0], 'Remove this mention');
  const again = actions[titles.indexOf('Pick another session…')];
  assert.equal(again.command.command, 'editor.action.triggerSuggest');
  await vscode.workspace.applyEdit(actions[0].edit);
  assert.equal(document.text, `😀 see ${MENTION} `);

  await vscode.commands.executeCommand('sessionref.expandBuffer');
  assert.ok(document.text.startsWith(`😀 see ${MENTION}\n\n## Referenced sessions\n`));
  assert.ok(document.text.includes('"text":"fix it"'));

  shown.pick = (items) => items.find(({ label }) => label === 'Fix login 页面');
  await vscode.commands.executeCommand('sessionref.copyReferenceTo');
  assert.equal(shown.clipboard, MENTION);

  await vscode.commands.executeCommand('sessionref.preview', { sessionId: 'login' });
  assert.match(`${shown.documents[0]}`, /^file:.*snapshot-1\.txt$/);
  assert.deepEqual(shown.messages, []);
});

test('a failure and a bad setting are shown', BOUND, async (t) => {
  const editor = await activate(t, { 'sessionref.maxReferences': 9 });
  const { shown, vscode } = editor;
  const document = await editor.open('untitled:Untitled-1', 'plaintext');
  await type(editor, document, '@[x](dsh-session:!!)');
  await vscode.commands.executeCommand('sessionref.expandBuffer');
  const told = await until(async () => shown.messages, (messages) => messages.length === 2);
  assert.deepEqual(told.map(([level]) => level).sort(), ['error', 'warning']);
  assert.ok(told.some(([, text]) => text.includes('`maxReferences`')));
  assert.ok(told.some(([, text]) => text === 'sessionref: Malformed mention: @[x](dsh-session:!!).'));
});

test('settings that change are heeded', BOUND, async (t) => {
  const editor = await activate(t);
  const document = await editor.open('untitled:Untitled-1', 'markdown');
  assert.equal((await type(editor, document, '@')).length, 3);
  await editor.set('sessionref.agentId', 'login');
  await until(async () => (await type(editor, document, '\n@')).length, (number) => number === 2);
});

test('the manifest says what the extension does', BOUND, async (t) => {
  const { context, registered } = await activate(t);
  const ours = MANIFEST.contributes.commands.map(({ command }) => command);
  assert.equal(context.subscriptions.length, ours.length);
  for (const command of ours) assert.ok(registered.commands.has(command), command);
  const { selector } = registered.registerCompletionItemProvider;
  const languages = selector.map(({ language }) => `onLanguage:${language}`);
  assert.deepEqual(MANIFEST.activationEvents, languages);
  const { properties } = MANIFEST.contributes.configuration;
  assert.equal(properties['sessionref.command'].scope, 'machine'); // no workspace says what is run
});
