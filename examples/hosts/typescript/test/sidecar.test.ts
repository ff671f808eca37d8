// The installed sidecar, asked for everything once, and what can go wrong with a call.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  AbortError,
  LineTooLongError,
  PROTOCOL_VERSION,
  RpcError,
  isContextMessage,
  type Decision,
  type ProgressValue,
  type Sidecar,
} from 'sessionref-host';

import { changedEnvironment } from '../src/child.js';
import { Transcript, type Message } from '../example/transcript.js';
import {
  AGENT,
  BOUND,
  NEVER,
  gate,
  makeRoot,
  prepared,
  quoted,
  session,
  startSidecar,
  store,
  user,
} from './support.js';

function message(id: string, text: string, kind = 'user'): Message {
  return { id, role: 'user', source: { kind }, content: [{ type: 'text', text }] };
}

test('one whole conversation', BOUND, async (t) => {
  const sidecar = await startSidecar(t, { clientInfo: { name: 'test', version: '1' } });
  assert.equal(sidecar.info.protocolVersion, PROTOCOL_VERSION);
  assert.equal(sidecar.info.serverInfo.name, 'sessionref');
  assert.equal(sidecar.info.roots.length, 1);
  const { candidates, total } = await sidecar.listCandidates({ agent: AGENT, query: 'login' });
  assert.deepEqual([total, candidates[0]?.label], [1, 'Fix login 页面']);
  const mention = candidates[0]!.mention;
  assert.deepEqual(await sidecar.formatMention({ sessionId: 'login', label: 'Fix login 页面' }), {
    mention,
    uri: mention.slice(mention.indexOf('dsh-session:'), -1),
  });
  assert.deepEqual(await sidecar.parseText({ text: `😀 ${mention}` }), {
    text: '😀 @Fix login 页面',
    references: [
      { sessionId: 'login', label: 'Fix login 页面', start: 3, end: 3 + mention.length },
    ],
  });
  const preview = await sidecar.preview({ agent: AGENT, text: mention });
  assert.deepEqual([preview.errors, preview.totals.retainedMessages], [[], 2]);
  const page = await sidecar.readSnapshot({ agent: AGENT, sessionId: 'login', limit: 1 });
  assert.deepEqual(page.items, [{ role: 'user', text: 'Logging in fails.' }]);
  assert.equal(page.nextOffset, 1);
  const content = [{ type: 'image', of: 'a cat' }];
  const result = await sidecar.prepare({
    agent: AGENT,
    content,
    references: [{ sessionId: 'other' }],
  });
  assert.deepEqual(result.content, content);
  assert.deepEqual(quoted(result.additionalContext), { other: ['Send them monthly.'] });
  const status = await sidecar.status();
  assert.deepEqual([status.requestsInFlight, status.roots[0]?.sessions], [0, 2]);
  assert.deepEqual(await sidecar.close(), { code: 0, signal: null });
});

test('a step: messages stay in their order, contexts beside their own', BOUND, async (t) => {
  const sidecar = await startSidecar(t);
  const mention = async (id: string) => (await sidecar.formatMention({ sessionId: id })).mention;
  const messages = [
    message('m1', 'first'),
    message('m2', `like ${await mention('login')}`),
    message('m3', `not ${await mention('login')}`, 'plugin'),
    message('m4', `and ${await mention('other')}`),
  ];
  const transcript = new Transcript();
  transcript.enter({ kind: 'enter', messages: [message('m0', 'earlier')] });
  const decision: Decision<Message> = { kind: 'enter', messages };
  const step = await sidecar.preStep({ agent: AGENT, decision });
  transcript.enter(step.decision);
  const [, , , context, , , other] = transcript.messages;
  assert.ok(context && isContextMessage(context) && other && isContextMessage(other));
  assert.deepEqual(
    transcript.messages.map((each) => each.id),
    ['m0', 'm1', 'm2', context.id, 'm3', 'm4', other.id],
  );
  assert.deepEqual(transcript.messages[2], message('m2', 'like @login'));
  assert.deepEqual(transcript.messages[4], messages[2]);
  assert.equal(context.source.references[0]?.retainedMessages, 2);
  assert.deepEqual(quoted(context), { login: ['Logging in fails.', 'The cookie is gone.'] });
  assert.deepEqual(
    step.outcomes.map(({ messageIndex, status, contextId }) => [messageIndex, status, contextId]),
    [
      [1, 'prepared', context.id],
      [3, 'prepared', other.id],
    ],
  );
  const { recalls } = await sidecar.describeTranscript({ messages: transcript.messages });
  assert.deepEqual(
    recalls.map(({ recallIndex, messageIndex, placement }) => [
      recallIndex,
      messageIndex,
      placement,
    ]),
    [
      [3, 2, 'after'],
      [6, 5, 'after'],
    ],
  );
  assert.equal(transcript.title, 'earlier');
});

test('the policy of a step, and a rejected one', BOUND, async (t) => {
  const sidecar = await startSidecar(t);
  const { mention } = await sidecar.formatMention({ sessionId: 'nowhere' });
  const decision: Decision<Message> = { kind: 'enter', messages: [message('m', mention)] };
  const blocked = sidecar.preStep({ agent: AGENT, decision });
  await assert.rejects(blocked, (error: RpcError) => {
    assert.deepEqual([error.code, error.data?.code], [-32014, 'SESSION_REFERENCE_READ_FAILED']);
    assert.deepEqual([error.data?.cause, error.data?.sessionId], ['not_found', 'nowhere']);
    assert.equal(error.retryable, false);
    return true;
  });
  const passed = await sidecar.preStep({ agent: AGENT, decision, policy: 'never-block' });
  assert.deepEqual(passed.decision, decision);
  assert.equal(passed.outcomes[0]?.status, 'failed');
  const reject = { kind: 'reject' as const, reason: 'not now' };
  assert.deepEqual((await sidecar.preStep({ agent: AGENT, decision: reject })).decision, reject);
});

test('ids and texts are strings of ECMAScript, whatever is in them', BOUND, async (t) => {
  const sidecar = await startSidecar(t);
  for (const sessionId of ['', '\ud83d', '\u0000"\\\n\u2028页', 'x'.repeat(100_000)]) {
    const { mention } = await sidecar.formatMention({ sessionId, label: ']\ude00' });
    const { references } = await sidecar.parseText({ text: mention });
    assert.deepEqual(
      references.map((each) => [each.sessionId, each.label]),
      [[sessionId, ']\ude00']],
    );
  }
});

test('many large calls at one time', BOUND, async (t) => {
  const sidecar = await startSidecar(t);
  const texts = Array.from({ length: 24 }, (_, index) => `${index} 页${'x'.repeat(1_000_000)}`);
  const answers = await Promise.all(texts.map((text) => sidecar.parseText({ text })));
  assert.ok(answers.every(({ text }, index) => text === texts[index]));
});

test('what the sidecar could not read fails that call only', BOUND, async (t) => {
  const sidecar = await startSidecar(t);
  const { pid } = sidecar;
  let deep: unknown = 'deep';
  for (let level = 0; level < 1000; level += 1) deep = [deep];
  const content = sidecar.prepare({ agent: AGENT, content: deep, references: [] });
  await assert.rejects(content, { name: 'RpcError', code: -32700 });
  const long = sidecar.parseText({ text: 'x'.repeat(sidecar.info.limits.maxLineBytes) });
  await assert.rejects(long, LineTooLongError);
  const endless: unknown[] = [];
  endless.push(endless);
  await assert.rejects(sidecar.describeTranscript({ messages: endless }), TypeError);
  assert.equal((await sidecar.parseText({ text: 'fine' })).text, 'fine');
  assert.equal(sidecar.pid, pid);
});

test('progress is told to who asked for it', BOUND, async (t) => {
  const root = makeRoot(t);
  for (let index = 0; index < 300; index += 1) store(root, session(`s-${index}`, [user('x')]));
  const sidecar = await startSidecar(t, { root });
  const told: ProgressValue[] = [];
  const { total } = await sidecar.listCandidates(
    { agent: AGENT, query: 's-' },
    { onProgress: (value) => told.push(value) },
  );
  assert.equal(total, 300);
  assert.deepEqual([told[0]?.kind, told.at(-1)?.kind], ['begin', 'end']);
});

/** A sidecar that reads a session `stuck`, of which the host never says anything. */
async function startStuck(t: Parameters<typeof startSidecar>[0]) {
  const [asked, withdrawn] = [gate(), gate<unknown>()];
  const sidecar = await startSidecar(t, {
    liveSessions: {
      list: () => [],
      read: (id, _, signal) => {
        if (id !== 'stuck') return null;
        signal.addEventListener('abort', () => withdrawn.open(signal.reason));
        asked.open();
        return NEVER;
      },
    },
  });
  return { sidecar, asked: asked.opened, withdrawn: withdrawn.opened };
}

async function stuckStep(sidecar: Sidecar) {
  const { mention } = await sidecar.formatMention({ sessionId: 'stuck' });
  const decision: Decision<Message> = { kind: 'enter', messages: [message('m', mention)] };
  return { agent: AGENT, decision, policy: 'never-block' as const };
}

test('a stalled read is cancelled by a signal, also at the sidecar', BOUND, async (t) => {
  const { sidecar, asked, withdrawn } = await startStuck(t);
  const turn = new AbortController();
  const step = sidecar.preStep(await stuckStep(sidecar), { signal: turn.signal });
  await asked;
  assert.equal((await sidecar.status()).requestsInFlight, 1);
  turn.abort('stop');
  await assert.rejects(step, { name: 'AbortError', cause: 'stop' });
  await withdrawn;
  assert.equal((await sidecar.status()).requestsInFlight, 0);
  assert.deepEqual(await prepared(sidecar, 'other'), { other: ['Send them monthly.'] });
});

test('a signal that was aborted before sends nothing', BOUND, async (t) => {
  const { sidecar } = await startStuck(t);
  const step = sidecar.preStep(await stuckStep(sidecar), { signal: AbortSignal.abort() });
  await assert.rejects(step, { name: 'AbortError' });
  assert.equal((await sidecar.status()).requestsInFlight, 0);
});

test('one signal for all calls of a turn', BOUND, async (t) => {
  const { sidecar, asked, withdrawn } = await startStuck(t);
  const turn = new AbortController();
  const { signal } = turn;
  const params = await stuckStep(sidecar);
  const quick = Array.from({ length: 50 }, () => sidecar.parseText({ text: '' }, { signal }));
  await Promise.all(quick);
  const steps = Array.from({ length: 5 }, () => sidecar.preStep(params, { signal }));
  await asked;
  turn.abort();
  for (const step of steps) await assert.rejects(step, AbortError);
  await withdrawn;
});

test('a token cancels every call that carries it', BOUND, async (t) => {
  const { sidecar, asked } = await startStuck(t);
  const params = { ...(await stuckStep(sidecar)), cancellationToken: 'turn-7' };
  const steps = [sidecar.preStep(params), sidecar.preStep(params)];
  await asked;
  sidecar.cancel('turn-8');
  sidecar.cancel('turn-7');
  for (const step of steps) {
    await assert.rejects(step, (error: AbortError) => {
      assert.equal((error.cause as RpcError).data?.code, 'SESSION_REFERENCE_CANCELLED');
      return error instanceof AbortError;
    });
  }
});

test('a deadline is an error that may be tried again', BOUND, async (t) => {
  const { sidecar } = await startStuck(t);
  const params = { ...(await stuckStep(sidecar)), policy: 'native' as const, deadlineMs: 1 };
  await assert.rejects(sidecar.preStep(params), { code: -32802, retryable: true });
});

test('calls in flight are answered when it is closed; later ones are refused', BOUND, async (t) => {
  const { sidecar, asked } = await startStuck(t);
  const step = sidecar.preStep(await stuckStep(sidecar));
  await asked;
  const closed = sidecar.close();
  await assert.rejects(step, { name: 'RpcError', code: -32802, retryable: true });
  await assert.rejects(sidecar.status(), { name: 'SidecarUnavailableError', retryable: false });
  assert.deepEqual(await closed, { code: 0, signal: null });
  assert.equal(sidecar.close(), closed);
});

test('changes to the environment', () => {
  const base = { Path: 'a', KEEP: 'k', DROP: 'd' };
  const changes = { PATH: 'b', DROP: undefined, NEW: 'n' };
  assert.deepEqual(changedEnvironment(base, changes, true), { KEEP: 'k', PATH: 'b', NEW: 'n' });
  assert.deepEqual(changedEnvironment(base, changes, false), {
    Path: 'a',
    KEEP: 'k',
    PATH: 'b',
    NEW: 'n',
  });
});

test('the types know what may be asked', () => {
  type Params = Parameters<Sidecar['preStep']>[0];
  const params: Params = { agent: AGENT, decision: { kind: 'reject' }, policy: 'native' };
  // @ts-expect-error there is no such policy
  params.policy = 'sometimes';
  // @ts-expect-error a member that is given has a value
  const unset: Params = { ...params, deadlineMs: undefined };
  // @ts-expect-error an agent has an id
  unset.agent = { cwd: '/' };
});
