// A client for `sessionref --stdio`. What is wrong with a mention shows in Problems, what is wrong
// with the program as a message and in the output channel `sessionref`.

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

/** Have the server run a command of its own; what goes wrong is shown. */
const run = (command, argument) =>
  client
    .sendRequest('workspace/executeCommand', { command, arguments: [argument] })
    .catch((error) => void vscode.window.showErrorMessage(`sessionref: ${error.message}`));

async function expand() {
  const document = vscode.window.activeTextEditor?.document;
  if (document) await run('sessionref.expand', { uri: document.uri.toString() });
}

async function copyReference() {
  const agent = {
    id: vscode.workspace.getConfiguration('sessionref').get('agentId') ?? '',
    cwd: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
  };
  const { candidates } = await client.sendRequest('sessionReference/listCandidates', { agent });
  const picked = await vscode.window.showQuickPick(
    candidates.map(({ display, sessionId }) => ({
      label: display.label,
      description: display.cwd,
      sessionId,
    })),
    { placeHolder: 'Copy a reference to…', matchOnDescription: true },
  );
  const mention = picked && (await run('sessionref.copyReference', { sessionId: picked.sessionId }));
  if (mention) await vscode.env.clipboard.writeText(mention);
}

exports.activate = async (context) => {
  const settings = vscode.workspace.getConfiguration('sessionref');
  const [command, ...args] = settings.get('command');
  client = new LanguageClient('sessionref', 'sessionref', { command, args }, {
    documentSelector: ['markdown', 'plaintext', 'scminput'].map((language) => ({ language })),
    initializationOptions: { ...settings, retriggerCommand: 'editor.action.triggerSuggest' },
    synchronize: { configurationSection: 'sessionref' },
  });
  context.subscriptions.push(
    vscode.commands.registerCommand('sessionref.expandBuffer', expand),
    vscode.commands.registerCommand('sessionref.copyReferenceTo', copyReference),
  );
  await client.start();
};

exports.deactivate = () => client?.stop();
