// One conversation, in memory: the other side is written by hand, byte by byte where that matters.

import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import { AbortError, LineTooLongError, ProtocolError, RpcError } from 'sessionref-host';

import { Connection, type Handlers } from '../src/connection.js';
import { BOUND, NEVER, gate } from './support.js';

const SILENT: Handlers = { answer: () => NEVER, hear: () => {} };

/** A stream that takes one line at a time, and the next one when `take` is called. */
class Sluggish extends Writable {
  readonly taken: string[] = [];
  #done: (() => void) | undefined;

  constructor() {
    super({ highWaterMark: 1 });
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.taken.push(chunk.toString());
    this.#done = done;
  }

  /** Every line that is written from now on, and what it waited for. */
  async take(): Promise<void> {
    for (let done; (done = this.#done); await turn()) {
      this.#done = undefined;
      done();
    }
  }
}

function connect(handlers: Partial<Handlers> = {}, limit = 10_000) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const connection = new Connection(input, output, { ...SILENT, ...handlers }, limit);
  const says = (text: string) => input.write(text);
  let rest = '';
  /** The next line that we write. */
  const line = async (): Promise<string> => {
    for (;;) {
      const end = rest.indexOf('\n');
      if (end >= 0) {
        const found = rest.slice(0, end);
        rest = rest.slice(end + 1);
        return found;
      }
      const chunk = output.read() as Buffer | null;
      if (chunk) rest += chunk.toString();
      else await new Promise((resolve) => output.once('readable', resolve));
    }
  };
  return { connection, input, says, line };
}

test(
  'a character may be spread over chunks, and a chunk may hold several lines',
  BOUND,
  async () => {
    const { connection, input } = connect();
    const both = [connection.request('one'), connection.request('two')];
    const text =
      '{"jsonrpc":"2.0","id":2,"result":"页面😀\u2028\\ud83d"}\r\n \n' +
      '{"jsonrpc":"2.0","id":1,"result":null}\n';
    for (const byte of Buffer.from(text)) input.write(Buffer.of(byte));
    assert.deepEqual(await Promise.all(both), [null, '页面😀\u2028\ud83d']);

    const more = [connection.request('three'), connection.request('four')];
    input.write('{"id":3,"result":3}\n{"id":4,"result":4}\n{"id":');
    assert.deepEqual(await Promise.all(more), [3, 4]);
  },
);

test('what is asked is one line, whatever is in it', BOUND, async () => {
  const { connection, line } = connect();
  void connection.request('ask', { text: 'a\nb\u2028\ud83d', left: undefined });
  const expected = '{"jsonrpc":"2.0","id":1,"method":"ask","params":{"text":"a\\nb\u2028\\ud83d"}}';
  assert.equal(await line(), expected);
});

test('ids of the other side come back as they were, however large', BOUND, async () => {
  const { says, line } = connect({ answer: () => ({ fine: true }) });
  const ids = ['9007199254740993', '-123456789012345678901234567890', '7', '"7"', '"\\ud83d"'];
  for (const id of ids) {
    says(`{"jsonrpc":"2.0","id":${id},"method":"ask","params":{"id":1.12345678901234567}}\n`);
    assert.equal(await line(), `{"jsonrpc":"2.0","id":${id},"result":{"fine":true}}`);
  }
});

test('the other side takes back the request with exactly this id', BOUND, async () => {
  const aborted: unknown[] = [];
  const { says, line } = connect({
    answer: (method, _, signal) => {
      signal.addEventListener('abort', () => aborted.push(method));
      return NEVER;
    },
  });
  says('{"jsonrpc":"2.0","id":9007199254740993,"method":"one"}\n');
  says('{"jsonrpc":"2.0","id":9007199254740992,"method":"two"}\n');
  for (const id of ['1', '"9007199254740993"', '9007199254740993', '9007199254740993']) {
    says(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":${id}}}\n`);
  }
  const { id, error } = JSON.parse((await line()).replace(/(\d{16})/, '"$1"')) as {
    id: string;
    error: { code: number };
  };
  assert.deepEqual([id, error.code], ['9007199254740993', -32800]);
  assert.deepEqual(aborted, ['one']);
});

test('errors of handlers are answers', BOUND, async () => {
  const { says, line } = connect({
    answer: (method) => {
      if (method === 'known') throw new Error('no luck');
      throw new RpcError(-32601, 'nobody knows', undefined);
    },
  });
  says('{"jsonrpc":"2.0","id":1,"method":"known"}\n{"jsonrpc":"2.0","id":2,"method":"new"}\n');
  assert.match(await line(), /"id":1,"error":\{"code":-32603,"message":"no luck"\}/);
  assert.match(await line(), /"id":2,"error":\{"code":-32601,"message":"nobody knows"\}/);
});

test('an error answer rejects its own request, with what it says', BOUND, async () => {
  const { connection, says } = connect();
  const [one, two] = [connection.request('one'), connection.request('two')];
  const data = '{"code":"SIDECAR_BUSY","retryable":true}';
  says(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"busy","data":${data}}}\n`);
  await assert.rejects(one, (error: RpcError) => {
    assert.deepEqual([error.code, error.message, error.retryable], [-32000, 'busy', true]);
    assert.equal(error.data?.code, 'SIDECAR_BUSY');
    return true;
  });
  says('{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"cancelled"}}\n');
  await assert.rejects(two, (error: AbortError) => {
    assert.ok(error instanceof AbortError);
    assert.equal((error.cause as RpcError).code, -32800);
    return true;
  });
});

test('an error without an id fails whatever waits: nobody knows whose it is', BOUND, async () => {
  const { connection, says } = connect();
  const both = [connection.request('one'), connection.request('two')];
  says('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"too deep"}}\n');
  for (const each of both) await assert.rejects(each, { name: 'RpcError', code: -32700 });
  const next = connection.request('three');
  says('{"jsonrpc":"2.0","id":3,"result":"fine"}\n');
  assert.equal(await next, 'fine');
});

test('an aborted request rejects at once; its answer is nobody else’s', BOUND, async () => {
  const { connection, says, line } = connect();
  const controller = new AbortController();
  const asked = connection.request('ask', {}, controller.signal);
  assert.match(await line(), /"id":1,"method":"ask"/);
  controller.abort('enough');
  await assert.rejects(asked, { name: 'AbortError', code: 'ABORT_ERR', cause: 'enough' });
  assert.equal(await line(), '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}');

  const next = connection.request('ask');
  says('{"jsonrpc":"2.0","id":1,"result":"late"}\n{"jsonrpc":"2.0","id":2,"result":"own"}\n');
  assert.equal(await next, 'own');

  await assert.rejects(connection.request('ask', {}, controller.signal), { name: 'AbortError' });
  void connection.request('last');
  assert.match(await line(), /"id":2/);
  assert.match(await line(), /"id":3,"method":"last"/);
});

test('an abort after the answer changes nothing', BOUND, async () => {
  const { connection, says, line } = connect();
  const controller = new AbortController();
  const asked = connection.request('ask', {}, controller.signal);
  await line();
  says('{"jsonrpc":"2.0","id":1,"result":1}\n');
  assert.equal(await asked, 1);
  controller.abort();
  connection.notify('end');
  assert.equal(await line(), '{"jsonrpc":"2.0","method":"end"}');
});

test('nothing is written while the stream is full; cancels come first', BOUND, async () => {
  const output = new Sluggish();
  const connection = new Connection(new PassThrough(), output, SILENT, 1000);
  const controllers = [1, 2, 3].map(() => new AbortController());
  const calls = controllers.map(({ signal }, index) =>
    connection.request(`ask-${index + 1}`, {}, signal),
  );
  assert.equal(output.taken.length, 1);
  controllers[0]!.abort(); // written: the other side is told, before all else
  controllers[1]!.abort(); // not written yet: it never is
  for (const call of calls.slice(0, 2)) await assert.rejects(call, { name: 'AbortError' });
  connection.end();
  connection.notify('too late');
  assert.equal(output.taken.length, 1);
  await output.take();
  assert.deepEqual(
    output.taken.map((line) => (JSON.parse(line) as { method: string }).method),
    ['ask-1', '$/cancelRequest', 'ask-3'],
  );
  assert.equal(output.writableEnded, true);
});

test('a line of ours that is too long is refused, and nothing else', BOUND, async () => {
  const { connection, says, line } = connect({ answer: () => 'x'.repeat(200) });
  connection.outgoingLimit = 100;
  await assert.rejects(connection.request('ask', 'x'.repeat(100)), LineTooLongError);
  void connection.request('ask', 'x');
  assert.match(await line(), /"params":"x"/);
  says('{"jsonrpc":"2.0","id":"page","method":"ask"}\n');
  assert.match(await line(), /"id":"page","error":.*a line has more than 100 bytes/);
});

test('what is no message breaks the conversation, after what came before it', BOUND, async () => {
  const broken: Record<string, string | Buffer> = {
    'no JSON': 'Hello!\n',
    'no UTF-8': Buffer.from('{"jsonrpc":"2.0","id":2,"result":"\xff"}\n', 'latin1'),
    'no object': '[]\n',
    'no message': '{"jsonrpc":"2.0"}\n',
    'no id': '{"jsonrpc":"2.0","id":1.5,"method":"x"}\n',
    'a rounded id': '{"jsonrpc":"2.0","id":1e300,"method":"x"}\n',
  };
  for (const [what, bytes] of Object.entries(broken)) {
    const { connection, input } = connect();
    const [one, two] = [connection.request('one'), connection.request('two')];
    input.write('{"jsonrpc":"2.0","id":1,"result":1}\n');
    input.write(bytes);
    assert.equal(await one, 1, what);
    const reason = await connection.broken;
    assert.ok(reason instanceof ProtocolError, what);
    connection.close(reason);
    await assert.rejects(two, reason);
    await assert.rejects(connection.request('three'), reason);
  }
});

test(
  'a line of theirs that is too long breaks it, before it has come to its end',
  BOUND,
  async () => {
    const { connection, says } = connect({}, 100);
    says(`{"jsonrpc":"2.0","id":7,"result":"${'x'.repeat(100)}`);
    assert.ok((await connection.broken) instanceof LineTooLongError);
  },
);

test('half a line at the end is not taken for a message', BOUND, async () => {
  const heard: string[] = [];
  const { connection, input } = connect({ hear: (method) => void heard.push(method) });
  input.end('{"jsonrpc":"2.0","method":"one"}\n{"jsonrpc":"2.0","method":"two"}');
  assert.equal(await connection.broken, undefined);
  assert.deepEqual(heard, ['one']);
});

test('a reader that is gone is no error of ours', BOUND, async () => {
  const output = new PassThrough();
  const connection = new Connection(new PassThrough(), output, SILENT, 1000);
  output.destroy(new Error('EPIPE'));
  assert.equal(await connection.broken, undefined);
});

test('closing takes back what the other side asked', BOUND, async () => {
  const { opened, open } = gate<unknown>();
  const { connection, says } = connect({
    answer: (_, __, signal) => {
      signal.addEventListener('abort', () => open(signal.reason));
      connection.close(new Error('over'));
      return NEVER;
    },
  });
  says('{"jsonrpc":"2.0","id":1,"method":"ask"}\n');
  assert.equal(((await opened) as Error).message, 'over');
});
