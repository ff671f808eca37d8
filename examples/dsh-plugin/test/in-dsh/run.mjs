// The plugin in DSH itself, as it is on npm, with a model that is made up: somebody copies a
// mention in one session and sends it in another. Not part of the tests: it loads some 280 MB, and
// needs Node 22.19. `node test/in-dsh/run.mjs`; it also takes the picture `in-dsh.png`.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import puppeteer from 'puppeteer-core'

import { real } from '../sidecars.mjs'

const HERE = dirname(fileURLToPath(import.meta.url))
const PLUGIN = join(HERE, '../..')
const DSH = join(HERE, 'node_modules/@deepseek-ai/dsh/lib/bin.js')
const TOKEN = 'tokens expire at once'
const BUTTON = '.sessionref-copy button'

if (!existsSync(DSH)) execFileSync('npm', ['install'], { cwd: HERE, stdio: 'inherit' })
const model = await startModel()
try {
  await tryIn('the plugin', { isResolverDisabled: true, picture: join(PLUGIN, 'in-dsh.png') })
  await tryIn("DSH's own resolver", { isResolverDisabled: false })
} finally {
  model.server.close()
}

/** Send a mention, and see that what the model gets was made by whom it should be. */
async function tryIn(maker, { isResolverDisabled, picture }) {
  const home = mkdtempSync(join(tmpdir(), 'sessionref-in-dsh-'))
  const project = join(home, 'shop')
  furnish(home, project, isResolverDisabled)
  const dsh = spawn(process.execPath, [DSH, '--profile', 'web', '--no-open', '--port', '0'], {
    cwd: project,
    env: {
      ...process.env, DSH_HOME: home, DEEPSEEK_API_KEY: 'none', DEEPSEEK_BASE_URL: model.url,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [...(process.getuid() === 0 ? ['--no-sandbox'] : []), '--lang=en'],
  })
  try {
    const origin = await addressOf(dsh)
    await browser.defaultBrowserContext()
      .overridePermissions(origin, ['clipboard-read', 'clipboard-sanitized-write'])
    const page = await browser.newPage()
    await page.setViewport({ width: 1200, height: 600 })
    await page.goto(origin)
    for (const name of ['Continue', 'Configure later']) await press(page, name).catch(() => {})
    const actions = await page.waitForSelector('[aria-label^="Session actions for"]')
    await actions.evaluate((node) => node.parentElement.click()) // the row of the stored session
    await page.waitForFunction((text) => document.body.innerText.includes(text), {}, TOKEN)
    await page.click(BUTTON)
    await page.waitForSelector('.sessionref-copy [role=status]:not(:empty)')
    if (picture !== undefined) await page.screenshot({ path: picture })
    const mention = await page.evaluate(() => navigator.clipboard.readText())
    console.log(`copied: ${mention}`)
    assert.match(mention, /^@\[.+\]\(dsh-session:InNlc3Npb24tbG9naW4i\)$/)

    await press(page, 'New session')
    const asked = model.next()
    await page.type('textarea', `What was wrong in ${mention}?`)
    await press(page, 'Send message')
    const request = JSON.stringify(await asked)
    assert.equal(request.split(TOKEN).length - 1, 1, 'the model is told once')
    const isNative = request.includes('untrusted, read-only snapshot from other sessions')
    assert.equal(isNative ? "DSH's own resolver" : 'the plugin', maker)
    console.log(`told by ${maker}, once`)
  } finally {
    await browser.close()
    dsh.kill()
    await once(dsh, 'exit')
    rmSync(home, { recursive: true, force: true })
  }
}

/** A home with one stored session, and a profile with this plugin. */
function furnish(home, project, isResolverDisabled) {
  const profile = join(home, 'profiles/web')
  mkdirSync(project)
  mkdirSync(join(profile, 'node_modules'), { recursive: true })
  symlinkSync(PLUGIN, join(profile, 'node_modules/sessionref-dsh-plugin'))
  const bundles = ['@deepseek-ai/dsh-base', '@deepseek-ai/dsh-web-app', 'sessionref-dsh-plugin']
  writeFileSync(join(profile, 'package.json'),
    JSON.stringify({ name: 'dsh-profile-web', private: true, dsh: { profile: { bundles } } }))
  writeFileSync(join(profile, 'cordis.patch.yml'), `
- { id: hmr, disabled: false }
- { id: session-persistence-jsonl, config: { root: ${home}/sessions, compression: none } }
- { id: session-reference, disabled: ${isResolverDisabled} }
- { id: sessionref, config: { command: ${JSON.stringify(real(join(home, 'sessions')))} } }
`)
  const id = 'session-login'
  const folder = join(home, 'sessions', `--${project.slice(1).replaceAll('/', '-')}--`, id)
  mkdirSync(folder, { recursive: true })
  const header = { type: 'session', version: 0, id, createdAt: 1.7e12, cwd: project, delegationDepth: 0 }
  const content = [{ type: 'text', text: `the login is broken: ${TOKEN}` }]
  const rows = [
    { type: 'turn/start', data: { turn: 1 } },
    { type: 'step/start', data: { turn: 1, step: 1 } },
    {
      type: 'user/message',
      data: { id: 'm1', role: 'user', source: { kind: 'user' }, content },
      surfaceOp: 'append',
    },
    { type: 'step/end', data: { turn: 1, step: 1 } },
    { type: 'turn/end', data: { turn: 1, reason: { kind: 'completed' } } },
    { type: 'session/title', data: { title: 'Fix login', messageSeqs: [2], source: { kind: 'user' } } },
  ].map((row, seq) => ({ seq, time: 1.7e12 + seq, ...row }))
  writeFileSync(join(folder, 'session.jsonl'),
    [header, ...rows].map((row) => `${JSON.stringify(row)}\n`).join(''))
}

/** Where DSH says that it listens. */
async function addressOf(dsh) {
  for await (const line of createInterface({ input: dsh.stdout })) {
    const found = /^dsh web: (\S+)/.exec(line)
    if (found) return found[1]
  }
  throw new Error('DSH ended')
}

function press(page, name) {
  return page.locator(`::-p-aria([name="${name}"][role="button"])`).setTimeout(5_000).click()
}

/** A model that says "fine" to everything, and keeps what it was asked. */
async function startModel() {
  const waiting = []
  const server = createServer(async (request, response) => {
    const chunks = await Array.fromAsync(request)
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (body.tools?.length > 0) waiting.shift()?.(body)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const choice = { index: 0, delta: { role: 'assistant', content: 'fine' }, finish_reason: null }
    const end = { index: 0, delta: {}, finish_reason: 'stop' }
    for (const each of [choice, end]) {
      const chunk = { id: 'x', object: 'chat.completion.chunk', model: body.model, choices: [each] }
      response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server,
    url: `http://127.0.0.1:${server.address().port}`,
    next: () => new Promise((resolve) => { waiting.push(resolve) }),
  }
}
