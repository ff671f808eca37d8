// The language client that VS Code is made of, through one whole conversation.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { marked } from 'marked';
import rpc from 'vscode-jsonrpc/node.js';
import lsp from 'vscode-languageserver-protocol';

import { CWD } from './logs.mjs';
import { HOSTILE, PROGRAM, makePlace } from './prompts.mjs';

const BOUND = { timeout: 60_000 };
const URI = 'untitled:Untitled-1';
const CAPABILITIES = {
  general: { positionEncodings: ['utf-16'] },
  textDocument: {
    completion: {
      completionItem: { documentationFormat: ['markdown'], labelDetailsSupport: true },
    },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix'] } } },
    hover: { contentFormat: ['markdown'] },
    publishDiagnostics: {},
  },
  workspace: { applyEdit: true, workspaceEdit: { documentChanges: true } },
  window: { showDocument: { support: true } },
};

/** A language client on a sidecar of its own, past the handshake. */
async function connect(t) {
  const { root, workspace } = makePlace(t);
  const sidecar = spawn(PROGRAM, ['--stdio', '--root', root], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => sidecar.kill('SIGKILL'));
  const exited = once(sidecar, 'exit').then(([code]) => code);
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(sidecar.stdout),
    new rpc.StreamMessageWriter(sidecar.stdin),
  );
  const unhandled = [];
  connection.onUnhandledNotification((message) => unhandled.push(message));
  connection.listen();
  t.after(() => connection.dispose());
  const initialized = await connection.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: CAPABILITIES,
    workspaceFolders: [{ uri: pathToFileURL(CWD).href, name: 'shop' }],
  });
  await connection.sendNotification(lsp.InitializedNotification.type, {});
  return { connection, exited, initialized, unhandled, workspace };
}

/** A document that the client keeps and that the server is told of. */
class Buffer_ {
  text = '';
  version = 1;

  constructor(connection) {
    this.connection = connection;
    this.identifier = { uri: URI };
    const item = { uri: URI, languageId: 'nobody-knows', version: 1, text: '' };
    connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, { textDocument: item });
  }

  place(offset) {
    const lines = this.text.slice(0, offset).split(/\r\n|\r|\n/);
    return { line: lines.length - 1, character: lines.at(-1).length };
  }

  offset({ line, character }) {
    const ends = [...this.text.matchAll(/\r\n|\r|\n/g)].map((end) => end.index + end[0].length);
    return [0, ...ends][line] + character;
  }

  insert(text, offset = this.text.length) {
    const place = this.place(offset);
    this.apply({ range: { start: place, end: place }, newText: text });
  }

  apply({ range, newText }) {
    const [start, end] = [this.offset(range.start), this.offset(range.end)];
    this.text = this.text.slice(0, start) + newText + this.text.slice(end);
    this.version += 1;
    this.connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
      textDocument: { uri: URI, version: this.version },
      contentChanges: [{ range, text: newText }],
    });
  }

  complete(token) {
    const params = { textDocument: this.identifier, position: this.place(this.text.length) };
    return this.connection.sendRequest(lsp.CompletionRequest.type, params, token);
  }
}

const labels = (list) => list.items.map((item) => item.label);

test('one whole conversation', BOUND, async (t) => {
  const { connection, exited, initialized, unhandled } = await connect(t);
  assert.deepEqual(initialized.capabilities.completionProvider.triggerCharacters, ['@']);
  const buffer = new Buffer_(connection);
  const published = [];
  connection.onNotification(lsp.PublishDiagnosticsNotification.type, (params) => {
    published.push(params);
    connection.emitter?.();
  });

  buffer.insert('中文😀\r\nsee （@');
  const all = await buffer.complete();
  assert.equal(all.isIncomplete, true);
  assert.deepEqual(labels(all).slice(0, 2), ['Fix login 页面', 'Other']);

  // typing on, each key cancels what the key before asked for
  let source = new rpc.CancellationTokenSource();
  const answers = [];
  for (const key of 'fix login') {
    source.cancel();
    source = new rpc.CancellationTokenSource();
    buffer.insert(key);
    answers.push(buffer.complete(source.token).then((list) => labels(list), (error) => error.code));
  }
  const settled = await Promise.all(answers);
  assert.deepEqual(settled.at(-1), ['Fix login 页面']);
  // a key that was answered before the next one came had its own menu, the others have none
  for (const answer of settled.slice(0, -1)) {
    if (answer !== -32800) assert.ok(answer.includes('Fix login 页面'));
  }

  const [item] = (await buffer.complete()).items;
  const resolved = await connection.sendRequest(lsp.CompletionResolveRequest.type, item);
  assert.match(resolved.documentation.value, /^\*\*Fix login 页面\*\*\n/);
  buffer.apply(item.textEdit);
  const mention = item.textEdit.newText;
  assert.equal(buffer.text, `中文😀\r\nsee （${mention}`);
  const parsed = await connection.sendRequest('sessionReference/parseText', { text: buffer.text });
  assert.deepEqual(parsed.references.map(({ sessionId }) => sessionId), ['login']);

  const position = { line: 1, character: 10 };
  const hover = await connection.sendRequest(lsp.HoverRequest.type, {
    textDocument: buffer.identifier,
    position,
  });
  assert.match(hover.contents.value, /\*\*User:\*\* fix it/);
  assert.deepEqual(hover.range.start, { line: 1, character: 5 });

  // a mention of nobody: marked, and taken out by its code action
  const told = new Promise((resolve) => (connection.emitter = resolve));
  buffer.insert(' @[x](dsh-session:!!)');
  await told;
  const [diagnostic] = published.at(-1).diagnostics;
  assert.equal(diagnostic.code, 'SESSION_REFERENCE_INVALID_REFERENCE');
  assert.equal(published.at(-1).version, buffer.version);
  const actions = await connection.sendRequest(lsp.CodeActionRequest.type, {
    textDocument: buffer.identifier,
    range: diagnostic.range,
    context: { diagnostics: [diagnostic] },
  });
  const remove = actions.find(({ title }) => title === 'Remove this mention');
  buffer.apply(remove.edit.documentChanges[0].edits[0]);
  assert.ok(buffer.text.endsWith(`${mention} `));

  // expand, as the code action's command says
  connection.onRequest(lsp.ApplyWorkspaceEditRequest.type, ({ edit }) => {
    assert.equal(edit.documentChanges[0].textDocument.version, buffer.version);
    edit.documentChanges[0].edits.forEach((each) => buffer.apply(each));
    return { applied: true };
  });
  const { command } = actions.find(({ title }) => title === 'Expand session references');
  await connection.sendRequest(lsp.ExecuteCommandRequest.type, command);
  assert.match(buffer.text, /\r\n\r\n## Referenced sessions\r\n/);
  assert.match(buffer.text, /"text":"fix it"/);

  const copied = await connection.sendRequest(lsp.ExecuteCommandRequest.type, {
    command: 'sessionref.copyReference',
    arguments: ['login'],
  });
  assert.equal(copied, mention);

  assert.equal(await connection.sendRequest(lsp.ShutdownRequest.type), null);
  await connection.sendNotification(lsp.ExitNotification.type);
  assert.equal(await exited, 0);
  assert.deepEqual(unhandled, []);
});

test('the preview of a hostile transcript shows its markup as text', BOUND, async (t) => {
  const { connection } = await connect(t);
  const buffer = new Buffer_(connection);
  buffer.insert('@img');
  const [item] = (await buffer.complete()).items;
  assert.equal(item.label, HOSTILE);
  const { documentation } = await connection.sendRequest(lsp.CompletionResolveRequest.type, item);
  assert.equal(documentation.kind, 'markdown');
  for (const markup of ['<', '](', '![', 'http:']) assert.ok(!documentation.value.includes(markup));
  const html = marked.parse(documentation.value); // as VS Code renders it
  assert.doesNotMatch(html, /<(?!\/?(p|strong|code)>)/);
  assert.ok(html.includes('&lt;img src=x&gt; ![p](http://evil.example) [l](javascript:x)'));
});
