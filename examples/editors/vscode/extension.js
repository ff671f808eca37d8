// A client for `sessionref --stdio`. Errors show in Problems and in the output channel `sessionref`.
// Not run here; the protocol library below it is what tests/clients drives.

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = async (context) => {
  const settings = vscode.workspace.getConfiguration('sessionref');
  const [command, ...args] = settings.get('command');
  const languages = ['markdown', 'plaintext', 'scminput'];
  client = new LanguageClient('sessionref', 'sessionref', { command, args }, {
    documentSelector: languages.map((language) => ({ language })),
    initializationOptions: { ...settings, retriggerCommand: 'editor.action.triggerSuggest' },
    synchronize: { configurationSection: 'sessionref' },
  });
  const run = (name, argument) =>
    client.sendRequest('workspace/executeCommand', { command: name, arguments: [argument] });
  context.subscriptions.push(
    vscode.commands.registerCommand('sessionref.expandBuffer', () =>
      run('sessionref.expand', { uri: vscode.window.activeTextEditor?.document.uri.toString() }),
    ),
    vscode.commands.registerCommand('sessionref.copyReferenceOf', async () => {
      const sessionId = await vscode.window.showInputBox({ prompt: 'Session id' });
      if (sessionId === undefined) return;
      await vscode.env.clipboard.writeText(await run('sessionref.copyReference', { sessionId }));
    }),
  );
  await client.start();
};

exports.deactivate = () => client?.stop();
