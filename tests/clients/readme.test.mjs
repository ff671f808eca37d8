// The README's minimal hosts, as somebody would copy them: each is run against the real sidecar.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { cleanEnvironment, PROGRAM } from './host.mjs';
import { CWD, session, store, title, user } from './logs.mjs';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const README = readFileSync(join(REPOSITORY, 'README.md'), 'utf8');
const BOUND = { timeout: 300_000 }; // a first `go run` compiles Go's own library
const MOST_LINES = 44;

const MENTION = '@[Fix login](dsh-session:ImxvZ2luIg)';
const GONE = '@[x](dsh-session:ImdvbmUi)';
const MALFORMED = '@[x](dsh-session:IiJ)';

const HOSTS = {
  js: { file: 'host.mjs', command: [process.execPath] },
  go: { file: 'host.go', command: ['go', 'run'] },
  python: { file: 'host.py', command: ['python3'] },
};

/** The one block of code that is marked as this language. */
function block(language) {
  const [only, ...others] = README.matchAll(
    new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'),
  );
  assert.deepEqual(others, [], `one block of ${language}`);
  return only[1];
}

/** Run one of the hosts with a message: its exit code and what it printed. */
function run(t, { file, command }, code, message) {
  const folder = mkdtempSync(join(tmpdir(), 'sessionref-readme-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, 'sessions');
  store(root, session('login', [user('The cookie is gone.'), title('Fix login')]));
  writeFileSync(join(folder, file), code);
  const [program, ...words] = command;
  const env = {
    GOCACHE: join(REPOSITORY, '.venv', '.go-cache'),
    ...cleanEnvironment(),
    PATH: [dirname(PROGRAM), process.env.PATH].join(delimiter),
    SESSIONREF_ROOTS: root,
    SESSIONREF_CACHE_DIR: join(folder, 'cache'),
  };
  return new Promise((resolve) => {
    execFile(program, [...words, file, message], { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), stdout, stderr });
    });
  });
}

for (const [language, host] of Object.entries(HOSTS)) {
  test(`the minimal host in ${language}`, BOUND, async (t) => {
    const code = block(language);
    assert.ok(code.trimEnd().split('\n').length <= MOST_LINES, 'it is to be minimal');

    await t.test('expands a mention', async (t) => {
      const done = await run(t, host, code, `Do as in ${MENTION}.`);
      assert.equal(done.code, 0, done.stderr);
      const [readable, heading, ...rest] = done.stdout.split('\n');
      assert.equal(readable, 'Do as in @Fix login.');
      assert.equal(heading, '## Referenced sessions');
      const [snapshot] = JSON.parse(rest.find((line) => line.startsWith('[')));
      assert.equal(snapshot.sessionId, 'login');
      assert.equal(snapshot.cwd, CWD);
      assert.deepEqual(snapshot.conversation, [{ role: 'user', text: 'The cookie is gone.' }]);
    });

    if (language === 'go') {
      await t.test('is as gofmt has it', () => {
        assert.equal(execFileSync('gofmt', { input: code, encoding: 'utf8' }), code);
      });
    }

    await t.test('passes other messages on', async (t) => {
      const done = await run(t, host, code, 'nothing to refer to, 新');
      assert.deepEqual(done, { code: 0, stdout: 'nothing to refer to, 新\n', stderr: '' });
    });

    await t.test('says what is wrong, and fails', async (t) => {
      for (const [wrong, words] of [
        [GONE, /The session could not be read: there is no such session/],
        [MALFORMED, /Malformed mention: @\[x\]\(dsh-session:IiJ\)/],
      ]) {
        const done = await run(t, host, code, `Do as in ${wrong}.`);
        assert.equal(done.code, 1);
        assert.equal(done.stdout, '');
        assert.match(done.stderr, words);
      }
    });
  });
}
