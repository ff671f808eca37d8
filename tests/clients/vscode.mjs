// VS Code without a screen: as much of its API as a language client and our extension touch.
// What the user would see or do is in `shown`; what an extension registers is in `registered`.

import { readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';

import rpc from 'vscode-jsonrpc/node.js';
import { URI as Uri } from 'vscode-uri';

const require = createRequire(import.meta.url);

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(...ends) {
    const [a, b, c, d] = ends;
    const [start, end] = ends.length === 2 ? ends : [new Position(a, b), new Position(c, d)];
    Object.assign(this, { start, end });
  }

  static [Symbol.hasInstance](value) {
    return value?.start !== undefined && value.end !== undefined;
  }
}

class Emitter {
  listeners = new Set();

  event = (listener, self, disposables = []) => {
    const bound = listener.bind(self);
    this.listeners.add(bound);
    const disposable = { dispose: () => this.listeners.delete(bound) };
    disposables.push(disposable);
    return disposable;
  };

  fire(value) {
    return Promise.all([...this.listeners].map((listener) => listener(value)));
  }

  dispose() {
    this.listeners.clear();
  }
}

class WorkspaceEdit {
  edits = [];

  replace(uri, range, newText) {
    this.edits.push({ uri, range, newText });
  }
}

class Document {
  version = 1;
  isClosed = false;
  isDirty = false;

  constructor(uri, languageId, text = '') {
    Object.assign(this, { uri, languageId, text });
  }

  getText() {
    return this.text;
  }

  positionAt(offset) {
    const lines = this.text.slice(0, offset).split('\n');
    return new Position(lines.length - 1, lines.at(-1).length);
  }

  offsetAt({ line, character }) {
    const before = this.text.split('\n').slice(0, line);
    return before.reduce((sum, each) => sum + each.length + 1, 0) + character;
  }
}

/** Things with a name and fields, as most of the API's types are. */
function record(...names) {
  return class {
    constructor(...values) {
      names.forEach((name, at) => {
        if (values[at] !== undefined) this[name] = values[at];
      });
    }
  };
}

const Kinds = (...names) => Object.fromEntries(names.map((name, at) => [name, at]));

class Kind {
  constructor(value) {
    this.value = value;
  }

  append(part) {
    return new Kind(this.value ? `${this.value}.${part}` : part);
  }
}
Kind.Empty = new Kind('');
Kind.QuickFix = new Kind('quickfix');
Kind.Refactor = new Kind('refactor');
Kind.RefactorRewrite = new Kind('refactor.rewrite');
Kind.RefactorExtract = new Kind('refactor.extract');
Kind.RefactorInline = new Kind('refactor.inline');
Kind.Source = new Kind('source');
Kind.SourceOrganizeImports = new Kind('source.organizeImports');

/** An editor with some settings and a workspace folder. */
export function makeVSCode(settings, folder) {
  const shown = { messages: [], diagnostics: new Map(), documents: [], clipboard: '' };
  const registered = { commands: new Map() };
  const events = {};
  const on = (name) => (events[name] = new Emitter()).event;
  const disposable = { dispose() {} };
  const provider = (name) => (selector, given, ...rest) => {
    registered[name] = { selector, provider: given, rest };
    return disposable;
  };
  const message = (level) => async (text) => void shown.messages.push([level, text]);
  const output = { append() {}, appendLine() {}, show() {}, dispose() {}, clear() {} };

  const settingsOf = (section) =>
    Object.fromEntries(
      Object.entries(settings)
        .filter(([name]) => name.startsWith(`${section}.`))
        .map(([name, value]) => [name.slice(section.length + 1), value]),
    );

  const workspace = {
    textDocuments: [],
    notebookDocuments: [],
    workspaceFolders: [{ uri: Uri.parse(folder), name: 'folder', index: 0 }],
    getConfiguration: (section) =>
      section === undefined
        ? { get: settingsOf }
        : { ...settingsOf(section), get: (name) => settingsOf(section)[name] },
    applyEdit: async ({ edits }) => {
      for (const { uri, range, newText } of edits) {
        const document = workspace.textDocuments.find((each) => `${each.uri}` === `${uri}`);
        await editor.replace(document, range, newText);
      }
      return true;
    },
    createFileSystemWatcher: () => disposable,
    asRelativePath: String,
  };
  for (const name of [
    'ChangeConfiguration', 'ChangeWorkspaceFolders', 'ChangeTextDocument', 'CloseTextDocument',
    'OpenTextDocument', 'SaveTextDocument', 'CreateFiles', 'RenameFiles', 'DeleteFiles',
    'ChangeNotebookDocument', 'OpenNotebookDocument', 'CloseNotebookDocument',
    'SaveNotebookDocument',
  ]) {
    workspace[`onDid${name}`] = on(name);
  }
  for (const name of ['SaveTextDocument', 'CreateFiles', 'RenameFiles', 'DeleteFiles']) {
    workspace[`onWill${name}`] = on(`Will${name}`);
  }

  const window = {
    activeTextEditor: undefined,
    visibleTextEditors: [],
    tabGroups: {
      all: [],
      onDidChangeTabs: on('ChangeTabs'),
      onDidChangeTabGroups: on('ChangeTabGroups'),
    },
    onDidChangeActiveTextEditor: on('ChangeActiveTextEditor'),
    onDidChangeVisibleTextEditors: on('ChangeVisibleTextEditors'),
    createOutputChannel: () => output,
    showErrorMessage: message('error'),
    showWarningMessage: message('warning'),
    showInformationMessage: message('info'),
    showTextDocument: async (uri) => void shown.documents.push(uri),
    showQuickPick: async (items) => shown.pick(items),
    withProgress: async (_, task) => task({ report() {} }),
  };

  const languages = {
    match: (selector, document) =>
      [selector].flat().some(({ language }) => language === document.languageId) ? 10 : 0,
    createDiagnosticCollection: () => ({
      set: (uri, found) => shown.diagnostics.set(`${uri}`, found ?? []),
      delete: (uri) => shown.diagnostics.delete(`${uri}`),
      clear: () => shown.diagnostics.clear(),
      dispose() {},
    }),
  };

  const vscode = {
    Position,
    Range,
    Uri,
    WorkspaceEdit,
    EventEmitter: Emitter,
    CodeActionKind: Kind,
    CancellationTokenSource: rpc.CancellationTokenSource,
    CancellationError: class extends Error {},
    CompletionItem: record('label', 'kind'),
    CompletionList: class {
      constructor(items, isIncomplete) {
        Object.assign(this, { items, isIncomplete });
      }
    },
    TextEdit: class {
      constructor(range, newText) {
        Object.assign(this, { range, newText });
      }

      static replace(range, newText) {
        return new this(range, newText);
      }
    },
    Hover: class {
      constructor(contents, range) {
        Object.assign(this, { contents: [contents].flat(), range });
      }
    },
    Diagnostic: record('range', 'message', 'severity'),
    CodeAction: record('title', 'kind'),
    InlayHint: record('position', 'label', 'kind'),
    InlayHintLabelPart: record('value'),
    CodeLens: record('range'),
    DocumentLink: record('range'),
    CallHierarchyItem: record('kind'),
    TypeHierarchyItem: record('kind'),
    SymbolInformation: record('name'),
    MarkdownString: record('value'),
    SnippetString: record('value'),
    Disposable: class {
      constructor(dispose) {
        this.dispose = dispose;
      }

      static from(...all) {
        return new this(() => all.forEach((each) => each.dispose()));
      }
    },
    CompletionItemKind: Kinds('Text', 'Method'),
    CompletionItemTag: { Deprecated: 1 },
    CompletionTriggerKind: Kinds('Invoke', 'TriggerCharacter', 'TriggerForIncompleteCompletions'),
    CodeActionTriggerKind: { Invoke: 1, Automatic: 2 },
    DiagnosticSeverity: Kinds('Error', 'Warning', 'Information', 'Hint'),
    DiagnosticTag: { Unnecessary: 1, Deprecated: 2 },
    ProgressLocation: { Window: 10 },
    TextDocumentSaveReason: { Manual: 1 },
    TextDocumentChangeReason: { Undo: 1, Redo: 2 },
    workspace,
    window,
    languages: new Proxy(languages, {
      get: (own, name) => own[name] ?? (name.startsWith('register') ? provider(name) : undefined),
    }),
    commands: {
      registerCommand: (name, run) => {
        registered.commands.set(name, run);
        return { dispose: () => registered.commands.delete(name) };
      },
      executeCommand: (name, ...values) => registered.commands.get(name)(...values),
    },
    env: {
      appName: 'none',
      language: 'en',
      clipboard: { writeText: async (text) => void (shown.clipboard = text) },
      openExternal: async () => true,
    },
    extensions: { all: [], getExtension: () => undefined, onDidChange: on('ChangeExtensions') },
    notebooks: {},
    version: '1.96.0',
  };

  const editor = {
    shown,
    registered,
    vscode,

    async open(uri, languageId) {
      const document = new Document(Uri.parse(uri), languageId);
      workspace.textDocuments.push(document);
      window.activeTextEditor = { document };
      await events.OpenTextDocument.fire(document);
      return document;
    },

    async replace(document, range, text) {
      const [start, end] = [document.offsetAt(range.start), document.offsetAt(range.end)];
      document.text = document.text.slice(0, start) + text + document.text.slice(end);
      document.version += 1;
      const change = { range, rangeOffset: start, rangeLength: end - start, text };
      await events.ChangeTextDocument.fire({ document, contentChanges: [change] });
    },

    /** Load an extension, with this API and the libraries that are installed here. */
    load(path) {
      for (const name of Object.keys(require.cache)) {
        if (name.includes('vscode-languageclient')) delete require.cache[name];
      }
      const original = Module._load;
      Module._load = (name, ...rest) => (name === 'vscode' ? vscode : original(name, ...rest));
      try {
        const module = { exports: {} };
        const source = readFileSync(path, 'utf8');
        new Function('require', 'module', 'exports', source)(require, module, module.exports);
        return module.exports;
      } finally {
        Module._load = original;
      }
    },

    set: async (name, value) => {
      settings[name] = value;
      await events.ChangeConfiguration.fire({ affectsConfiguration: () => true });
    },
  };
  return editor;
}
